#!/usr/bin/env bash
# Copies a static library and keeps only what is ours: plain.sh TARGET ARCHIVE OUT.
#
# rustc adds its `compiler_builtins` to every static library: memcpy, floating point, division. In a C program they would
# compete with libgcc, compiler-rt and the C library, and replace their functions in the code of the program, too.
# Whole-program optimization has left all our code in one member, which defines only tenslice_*. That member stays. What
# it calls comes from the C library and from the compiler's own library; a function that these may lack is an error here.
# On MSVC it also has constants that are named by their bytes, as those of every compiler for it, which the linker merges.
set -euo pipefail
sources=$(cd "$(dirname "$0")/sdk" && pwd)
target=$1 archive=$(realpath "$2") out=$(realpath -m "$3")

for tool in llvm-ar llvm-nm llvm-objcopy llvm-mc; do
    command -v $tool > /dev/null || { echo "plain: $tool is missing: install LLVM (Debian: llvm)" >&2; exit 1; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

prefix=
[[ $target != *-apple-* ]] || prefix=_ # Mach-O puts it before every name
symbols() { # --defined-only|--undefined-only FILE: the names of other than local symbols
    llvm-nm --extern-only "$1" --just-symbol-name "$2" | sed "s/^$prefix//" | LC_ALL=C sort -u
}

mkdir all
(cd all && llvm-ar x "$archive")
ours=()
for member in all/tenslice*; do
    if symbols --defined-only "$member" | grep '^tenslice_' > names; then
        ours+=("$member")
    fi
done
[ ${#ours[@]} = 1 ] || { echo "plain: ${#ours[@]} members of $archive have our functions, not one" >&2; exit 1; }
mv "${ours[0]}" tenslice.o
members=(tenslice.o)

# On ARM, compilers call the memory functions by names of their own. A program without a C library need not have them.
case $target in
thumb*-none-eabi*)
    llvm-objcopy --redefine-sym=__aeabi_mem{cpy=memcpy,cpy4=memcpy,cpy8=memcpy,move=memmove,move4=memmove,move8=memmove} \
        --redefine-sym=__aeabi_mem{clr,clr4,clr8}=tenslice_memclr_ --redefine-sym=__aeabi_mem{set,set4,set8}=tenslice_memset_ \
        tenslice.o
    llvm-mc --triple=thumbv6m-none-eabi --filetype=obj "$sources/memory.s" -o memory.o
    members+=(memory.o)
    ;;
esac

# Functions of the C library and the compiler's library of every program for that machine. `ti` is 128 bits, for which the
# latter has functions on machines of 64 bits.
memory='memcpy|memmove|memset|memcmp'
allocator='malloc|calloc|realloc|free|aligned_alloc|posix_memalign' # with the feature c-alloc
integers='__(u?div|u?mod|u?divmod|mul|ashl|ashr|lshr|ffs|clz|ctz|popcount|bswap)'
floats='__((add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|cmp|unord)[sd]f|(fix|fixuns)[sd]f[sd]i|(float|floatun)[sd]i[sd]f|extendsfdf|truncdfsf)[23]?'
constants=
case $target in
thumb*-none-*) known="$memory|__aeabi_(ui?|i|u?l|f|d|h|c)[a-z0-9]+|__[a-z]+[sd]i2" ;;
*-none-*) known="$memory|$integers[sd]i[234]|$floats" ;;
*-windows-msvc)
    known="$memory|$allocator|__chkstk|_fltused|_aligned_(malloc|realloc|free)"
    constants='^__(real|[xyz]mm)@[0-9a-f]+$'
    ;;
*-windows-*) known="$memory|$allocator|___chkstk_ms|${integers}ti[34]|_aligned_(malloc|realloc|free)" ;;
*-apple-*) known="$memory|$allocator|bzero|memset_pattern16|sysctlbyname|__bzero|${integers}ti[34]" ;;
armv7-*) known="$memory|$allocator|bcmp|__aeabi_[a-z0-9]+|__aeabi_unwind_cpp_pr[01]" ;; # the last two are in every unwind table
wasm32-*) known="$memory|bcmp|$allocator|${integers}ti[34]|__stack_pointer|__linear_memory|__indirect_function_table" ;; # the linker's
*) known="$memory|$allocator|bcmp|getauxval|${integers}ti[34]" ;;
esac
if symbols --undefined-only tenslice.o | grep -vxE "$known|tenslice_mem(clr|set)_" >&2; then
    echo "plain: $target: these functions may be missing in a C program" >&2
    exit 1
fi
if symbols --defined-only tenslice.o | grep -vE "^tenslice_${constants:+|$constants}" >&2; then
    echo "plain: $target: defined besides tenslice_*" >&2
    exit 1
fi
rm -f "$out"
llvm-ar rcsD "$out" "${members[@]}"
