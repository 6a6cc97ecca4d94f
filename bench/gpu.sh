#!/usr/bin/env bash
# Measures Shoal on a GPU, a stage at a time: docs/CUDA.md says what each stage does.
#
#   bench/gpu.sh prepare             builds and packs what a machine with a GPU needs: build-gpu/pack.tar.gz
#   bench/gpu.sh STAGE [ARGUMENT...] runs a stage there: conformance sanitizer roofline serve lanes twin
#   bench/gpu.sh --emulated STAGE    the same with tiny shapes on the emulated GPU, where it was built
#
# A stage needs bash, coreutils and tar, build-gpu/pack.tar.gz and this tree; python3 for serve and twin, and
# PyTorch for a part of roofline. It installs nothing. Each case has a time limit, and a case that
# fails leaves the others. Results go to $OUT, or to bench/results/gpu: STAGE.jsonl has a line for the
# machine and one for each case and figure, and gpu.log has all that the programs print.
set -u
cd "$(dirname "$(readlink -f "$0")")/.." || exit 2

EMULATED=
if [ "${1:-}" = --emulated ]; then
    EMULATED=1
    shift
fi
STAGE=${1:-}
[ $# -gt 0 ] && shift
PACK=$PWD/build-gpu/pack
DEVICE=cuda:0
LIMIT_S=${LIMIT_S:-235} # of a stage
[ -n "$EMULATED" ] && PACK=$PWD/build-gpu/emulated
OUT=${OUT:-$PWD/bench/results/gpu}
RESULT=$OUT/$STAGE.jsonl
LOG=$OUT/gpu.log
SUMMARY=()
N_FAILED=0

# ---- Building and packing. ----

# Libraries of glibc: a program uses the machine's own, unless that is too old for it.
is_glibc() {
    case $1 in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.* | libmvec.so.* | ld-linux*) return 0 ;;
    esac
    return 1
}

# pack_libraries PROGRAM...: what they are linked with, apart from the driver.
pack_libraries() {
    local path
    mkdir -p "$PACK/lib" "$PACK/loader"
    ldd "$@" | awk '/=> \//{print $3} /^\t\/lib.*ld-linux/{print $1}' | sort -u | while read -r path; do
        if is_glibc "$(basename "$path")"; then
            cp -L "$path" "$PACK/loader/"
        else
            cp -L "$path" "$PACK/lib/"
        fi
    done
}

commit_of_tree() {
    local commit
    commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
    [ -z "$(git status --porcelain -uno 2>/dev/null)" ] || commit="$commit, with changes"
    echo "$commit"
}

prepare() {
    local files=(src/cmd/shoal bench/gpu_steps bench/gpu_lanes bench/gpu_weights bench/gpu_probe tests/cuda/vectors_test) file kib
    if [ -n "$EMULATED" ]; then
        files+=(tests/cuda/libshoal_cuda.so tests/cuda/rows_test tests/cuda/rows_test_race tests/cuda/driver_test)
    else
        files+=(src/cuda/libshoal_cuda.so tests/cuda/real/conformance)
    fi
    [ -f build/build.ninja ] || meson setup build >/dev/null || return 1
    ninja -C build --quiet "${files[@]}" || return 1
    rm -rf "$PACK"
    mkdir -p "$PACK/bin"
    for file in "${files[@]}"; do
        strip -o "$PACK/bin/$(basename "$file")" "build/$file" || return 1
    done
    chmod +x "$PACK"/bin/*
    pack_libraries "$PACK"/bin/*
    nm -D --undefined-only "$PACK"/bin/* 2>/dev/null | awk '$1 == "U" && $2 ~ /^cu[A-Z]/ {print $2}' | sort -u >"$PACK/symbols"
    commit_of_tree >"$PACK/commit"
    tar -C "$(dirname "$PACK")" -czf "$PACK.tar.gz" "$(basename "$PACK")" || return 1
    kib=$(du -k "$PACK.tar.gz" | cut -f1)
    echo "$PACK.tar.gz has $((kib / 1024)) MiB, at commit $(cat "$PACK/commit")"
    if [ "$kib" -gt $((60 * 1024)) ]; then
        echo "this is more than the 60 MiB that may be carried" >&2
        return 1
    fi
}

# ---- The machine. ----

# The folder of a library that the loader does not find by itself.
folder_of() {
    local name=$1 folder
    shift
    ldconfig -p 2>/dev/null | grep -q "$name" && return 0
    for folder in "$@"; do
        if [ -e "$folder/$name" ]; then
            echo "$folder"
            return 0
        fi
    done
}

find_libraries() {
    local python_folders=() folder
    LIBRARIES=$PACK/lib
    if [ -z "$EMULATED" ]; then
        mapfile -t python_folders < <(python3 -c '
import glob, importlib.util
spec = importlib.util.find_spec("nvidia")
for place in (spec.submodule_search_locations if spec else []):
    print("\n".join(glob.glob(place + "/*/lib")))' 2>/dev/null)
        for folder in "$(folder_of libcuda.so.1 /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib64 /usr/lib/x86_64-linux-gnu)" \
            "$(folder_of libcublasLt.so.13 /usr/local/cuda/lib64 "${python_folders[@]}")"; do
            [ -n "$folder" ] && LIBRARIES=$LIBRARIES:$folder
        done
    fi
    # The plug-in is found beside the program, or along this path.
    LIBRARIES=$LIBRARIES:$PACK/bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    # The machine's own C++ library is at least as new, and its tools need it.
    if ldconfig -p 2>/dev/null | grep -q 'libstdc++.so.6'; then
        rm -f "$PACK"/lib/libstdc++.so.6 "$PACK"/lib/libgcc_s.so.1
    fi
    # A machine with an older C library runs the programs by the loader that was packed.
    LOADER=()
    if ! LD_LIBRARY_PATH=$LIBRARIES "$PACK/bin/shoal" version >/dev/null 2>&1; then
        LOADER=("$PACK/loader/ld-linux-x86-64.so.2" --library-path "$PACK/loader:$LIBRARIES")
        echo "the programs start by the packed loader: $("$PACK/bin/shoal" version 2>&1 | tail -n 1)"
    fi
    # For programs that start shoal themselves, and need the machine's libraries.
    printf '#!/usr/bin/env bash\nLD_LIBRARY_PATH=%q exec %s %q "$@"\n' "$LIBRARIES" \
        "$([ ${#LOADER[@]} -eq 0 ] || printf '%q ' "${LOADER[@]}")" "$PACK/bin/shoal" >"$PACK/shoal"
    chmod +x "$PACK/shoal"
}

# Runs a program of the pack.
ours() {
    local program=$1
    shift
    LD_LIBRARY_PATH=$LIBRARIES "${LOADER[@]}" "$PACK/bin/$program" "$@"
}

escape() { printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g'; }

# Says which machine this is, in one line of every result.
describe_machine() {
    local probe driver
    driver=$(nvidia-smi --query-gpu=driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv,noheader 2>/dev/null | head -n 1)
    if [ -n "$EMULATED" ]; then
        probe='{"what": "device", "chip": "the emulator"}'
    else
        probe=$(ours gpu_probe "$PACK/symbols" 2> >(tee -a "$LOG" >&2))
    fi
    printf '{"what": "machine", "stage": "%s", "date": "%s", "commit": "%s", "driver": "%s", "kernel": "%s", "glibc": "%s", "cores": %s, "device": %s}\n' \
        "$STAGE" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(escape "$(cat "$PACK/commit")")" "$(escape "${driver:-unknown}")" \
        "$(escape "$(uname -r)")" "$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)" "$(nproc)" "${probe:-null}" | tee -a "$RESULT"
    if [ -z "$probe" ]; then
        echo "no go: no GPU can be used here"
        return 1
    fi
}

# ---- Cases. ----

left_s() { echo $((LIMIT_S - SECONDS)); }

# run_case NAME LIMIT COMMAND...: lines of the output that are JSON are results of the stage.
run_case() {
    local name=$1 limit=$2 begin=$EPOCHREALTIME code took how last
    shift 2
    [ "$limit" -gt "$(left_s)" ] && limit=$(left_s)
    if [ "$limit" -lt 3 ]; then
        how="no time"
        took=0
        last=
    else
        echo "== $name" >>"$LOG"
        (limited "$limit" "$@") >"$OUT/case.txt" 2>&1
        code=$?
        took=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }')
        cat "$OUT/case.txt" >>"$LOG"
        grep '^{' "$OUT/case.txt" >>"$RESULT"
        last=$(grep -v '^{' "$OUT/case.txt" | grep -v '^ *$' | tail -n 1 | cut -c1-200)
        how="failed, exit code $code"
        [ $code -eq 0 ] && how=ok
        [ $code -eq 77 ] && how=skipped
        [ $code -eq 124 ] || [ $code -eq 137 ] && how="ran past $limit s"
        grep -E '^(\[  FAILED  \]|\[  ERROR )' "$OUT/case.txt" | sort -u | head -n 5
    fi
    [ "$how" = ok ] || [ "$how" = skipped ] || N_FAILED=$((N_FAILED + 1))
    SUMMARY+=("$(printf '%-34s %-22s %7s s' "$name" "$how" "$took")")
    echo "${SUMMARY[-1]}  $([ "$how" = ok ] || echo "$last")"
    printf '{"what": "case", "stage": "%s", "name": "%s", "how": "%s", "seconds": %s, "last": "%s"}\n' \
        "$STAGE" "$name" "$how" "$took" "$(escape "$last")" >>"$RESULT"
    rm -f "$OUT/case.txt"
    [ "$how" = ok ]
}

# A command of the pack under a time limit; functions of this script are not commands.
limited() {
    local limit=$1 program=$2
    shift 2
    if [ -x "$PACK/bin/$program" ]; then
        LD_LIBRARY_PATH=$LIBRARIES exec timeout -k 3 "$limit" "${LOADER[@]}" "$PACK/bin/$program" "$@"
    fi
    exec timeout -k 3 "$limit" "$program" "$@"
}

not_built() {
    echo "$STAGE: not built: $1"
    printf '{"what": "not built", "stage": "%s", "why": "%s"}\n' "$STAGE" "$1" >>"$RESULT"
}

# ---- Stages. ----

conformance() {
    local name chip
    if [ -n "$EMULATED" ]; then
        run_case vectors 60 vectors_test
        for name in rows driver; do
            run_case "$name" 120 "${name}_test"
        done
        return
    fi
    # Go or no go of each kernel: these take a few seconds.
    for name in driver rows heads matrix attend draw; do
        run_case "$name" 30 conformance "$name"
    done
    chip=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr -c 'A-Za-z0-9\n' '-')
    chip=$OUT/${chip:-gpu}.ptx
    run_case "vectors: written" 20 conformance vectors "$chip" && run_case "vectors: compared with the twins" 60 vectors_test "$chip"
    run_case device 40 conformance device
    run_case pass 40 conformance pass
    run_case graphs 40 conformance graphs
    run_case golden 90 conformance golden
    run_case mix 120 conformance mix
}

sanitizer() {
    local tool name sanitizer
    if [ -n "$EMULATED" ]; then # the emulator's own check of races
        run_case "racecheck: rows" 120 rows_test_race
        return
    fi
    sanitizer=$(command -v compute-sanitizer || find -L /usr/local/cuda*/bin -name compute-sanitizer 2>/dev/null | head -n 1)
    if [ -z "$sanitizer" ]; then
        not_built "compute-sanitizer is not installed on this machine"
        return
    fi
    export SHOAL_TEST_EXACT=1 LD_LIBRARY_PATH=$LIBRARIES # pieces of memory are allocations of their own
    for tool in memcheck racecheck synccheck; do
        for name in ${1:-rows heads draw matrix attend pass}; do
            run_case "$tool: $name" 40 "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 20 "$PACK/bin/conformance" "$name"
        done
    done
}

# A folder for models, in memory if it has room for this many MiB.
models_folder() {
    local need_mib=$1 folder n_free
    for folder in /dev/shm "${TMPDIR:-/tmp}" /var/tmp; do
        n_free=$(df -Pm "$folder" 2>/dev/null | awk 'NR == 2 { print $4 }')
        if [ "${n_free:-0}" -gt "$need_mib" ]; then
            mktemp -d "$folder/shoal-models-XXXXXX"
            return
        fi
    done
    echo "no folder has $need_mib MiB free" >&2
    return 1
}

# roofline [SHAPE:TYPE...]
roofline() {
    local model shape type models=("$@") room_mib=4096 copy_mib=2048 quick=() tiny=()
    [ $# -gt 0 ] || models=(8b:BF16 8b:Q4_K 8b:Q8_0 8b:Q4_0 7b:BF16 7b:Q4_K opt-6.7b:BF16 13b:BF16 13b:Q4_K)
    if [ -n "$EMULATED" ]; then
        models=(tiny:BF16 tiny:Q4_K)
        room_mib=64 copy_mib=1 quick=(quick) tiny=(tiny)
    fi
    FOLDER=$(models_folder $room_mib) || return 1
    run_case copy 30 gpu_steps $DEVICE copy $copy_mib
    if python3 -c 'import torch' 2>/dev/null; then
        run_case "PyTorch beside" 70 python3 bench/gpu_torch.py "${tiny[@]}"
    else
        echo "PyTorch is not installed: it is left out"
    fi
    for model in "${models[@]}"; do
        shape=${model%%:*}
        type=${model##*:}
        run_case "$model: drawn" 30 gpu_weights "$shape" "$type" "$FOLDER/$shape-$type.gguf" shared &&
            run_case "$model: steps" 60 gpu_steps $DEVICE "$FOLDER/$shape-$type.gguf" "${quick[@]}"
        rm -f "$FOLDER/$shape-$type.gguf"
    done
    python3 bench/gpu_report.py "$RESULT" 2>&1 | tee -a "$LOG"
    [ "${PIPESTATUS[0]}" -eq 0 ] || N_FAILED=$((N_FAILED + 1))
}

# The models of serve and twin, drawn whole.
draw_models() {
    local rows=("$@") row name shape type
    MODELS=()
    for row in "${rows[@]}"; do
        IFS=: read -r name shape type <<<"$row"
        run_case "$name: drawn" 60 gpu_weights "$shape" "$type" "$FOLDER/$name.gguf" || return 1
        MODELS+=("$name=$FOLDER/$name.gguf")
    done
}

# serve [POLICY...]; MODELS_OF="NAME:SHAPE:TYPE ..." takes other models
serve() {
    local policies=("$@") models=(seven:7b:Q8_0 thirteen:13b:Q4_K opt:opt-6.7b:Q8_0) verb=serve room_mib=32768 size=full
    [ "$STAGE" = twin ] && verb=twin
    [ $# -gt 0 ] || policies=(fcfs value temporal db-turn rr adbs)
    if [ -n "$EMULATED" ]; then
        models=(seven:tiny:Q4_K opt:tiny-opt:Q8_0)
        policies=(fcfs db-turn) room_mib=64 size=tiny
        LIMIT_S=$((LIMIT_S + 200))
    elif [ $verb = twin ]; then
        models=(seven:7b:Q8_0 thirteen:13b:Q4_K)
        [ $# -gt 0 ] || policies=(fcfs db-turn)
    fi
    # shellcheck disable=SC2206 # several words are wanted
    [ -n "${MODELS_OF:-}" ] && models=($MODELS_OF)
    FOLDER=$(models_folder $room_mib) || return 1
    draw_models "${models[@]}" || return 1
    # The driver keeps to the time that is left, so this limit is only met when it hangs.
    timeout -k 3 $(($(left_s) + 5)) python3 bench/gpu_serve.py $verb "$PACK/shoal" "$RESULT" $DEVICE "$(left_s)" $size \
        "${MODELS[@]}" -- "${policies[@]}" 2>&1 | tee -a "$LOG"
    [ "${PIPESTATUS[0]}" -eq 0 ] || N_FAILED=$((N_FAILED + 1))
    grep -q '"what": "failed"' "$RESULT" && N_FAILED=$((N_FAILED + 1))
    cat "$RESULT".server.log >>"$LOG" 2>/dev/null
    rm -f "$RESULT".server.log "$RESULT".*.profile.json
}

twin() { serve "$@"; }

# lanes [EIGHTHS...]: what a share of the processors gives, and two models side by side
lanes() {
    local shares=("$@") share room_mib=4096 quick=() one=7b:Q8_0 two=13b:Q4_K
    [ $# -gt 0 ] || shares=(4 2 6 1 7 3 5)
    if [ -n "$EMULATED" ]; then
        shares=(4) room_mib=64 quick=(quick) one=tiny:Q4_K two=tiny-opt:Q8_0
    fi
    FOLDER=$(models_folder $room_mib) || return 1
    run_case "$one: drawn" 30 gpu_weights "${one%%:*}" "${one##*:}" "$FOLDER/${one/:/-}.gguf" shared || return 1
    run_case "$two: drawn" 30 gpu_weights "${two%%:*}" "${two##*:}" "$FOLDER/${two/:/-}.gguf" shared || return 1
    for share in "${shares[@]}"; do
        run_case "$share eighths" 90 gpu_lanes $DEVICE "$FOLDER/${one/:/-}.gguf" "$FOLDER/${two/:/-}.gguf" "$share" "${quick[@]}"
    done
}

clean() { [ -n "${FOLDER:-}" ] && rm -rf "$FOLDER"; }

run_stage() {
    if [ "$PACK.tar.gz" -nt "$PACK/unpacked" ]; then
        rm -rf "$PACK"
        tar -C "$(dirname "$PACK")" -xzf "$PACK.tar.gz" && touch "$PACK/unpacked"
    fi
    if [ ! -x "$PACK/bin/gpu_probe" ]; then
        echo "build-gpu/$(basename "$PACK").tar.gz is missing: run bench/gpu.sh ${EMULATED:+--emulated }prepare where Shoal is built" >&2
        return 2
    fi
    mkdir -p "$OUT"
    : >"$RESULT"
    trap clean EXIT
    find_libraries
    describe_machine || return 1
    "$STAGE" "$@"
    printf '%s\n' "---- $STAGE: $N_FAILED failed, $SECONDS s" "${SUMMARY[@]}"
    [ "$N_FAILED" -eq 0 ]
}

case $STAGE in
prepare) prepare ;;
conformance | sanitizer | roofline | serve | lanes | twin) run_stage "$@" ;;
*)
    sed -n '2,8p' "$0" >&2
    exit 2
    ;;
esac
