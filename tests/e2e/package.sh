#!/usr/bin/env bash
# The Debian package in a fresh root: installed, served from, upgraded, removed, purged. Needs root, and Debian's packages.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
root=$(mktemp -d) pid=
chmod 0755 "$root"
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"; }
leave() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    umount -q "$root/sys" "$root/proc" || true
    rm -rf --one-file-system "$root"
}
trap leave EXIT
ok() { echo "[       OK ] package_$1"; }
fail() { echo "package.sh: $1" >&2; exit 1; }
wanted() { [ "$2" = "$3" ] || fail "$1: wanted '$3', got '$2'"; }

debootstrap --variant=minbase bookworm "$root" >build/package.log 2>&1 || { tail -3 build/package.log; fail "no root"; }
cp /etc/apt/sources.list "$root/etc/apt/" 2>/dev/null || true
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
for version in 0.1.0 0.1.0+next; do
    cp "$(packaging/build $version)" "$root/shoal-$version.deb"
done

inside apt-get update -q >>build/package.log
inside apt-get install -y -q --no-install-recommends /shoal-0.1.0.deb >>build/package.log 2>&1 || { tail -5 build/package.log; fail "no installation"; }
inside shoal version | grep -q "^$(build/shoal version | head -1 | cut -d' ' -f1,2)"
wanted "folder of models" "$(inside stat -c '%U %a' /var/lib/shoal/models)" "shoal 750"
wanted "configuration" "$(inside stat -c '%U:%G %a' /etc/shoal/shoal.yaml)" "root:shoal 640"
inside bash -c '. /usr/share/bash-completion/completions/shoal && complete -p shoal' >/dev/null
ok is_installed

cp models/tale.gguf "$root/var/lib/shoal/models/"
sed -i 's/^listen: .*/listen: 127.0.0.1:17411/; s/^# models:/models:/; s/^#   qwen:/  tale:/; s/^#     path: .*/    path: \/var\/lib\/shoal\/models\/tale.gguf/' "$root/etc/shoal/shoal.yaml"
command=$(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/shoal.service")
chroot --userspec=shoal:shoal "$root" $command >build/package-serve.log 2>&1 &
pid=$!
answer=$(curl -s --retry 30 --retry-connrefused --retry-delay 1 -d '{"model": "tale", "prompt": "Once", "max_tokens": 4}' http://127.0.0.1:17411/v1/completions || true)
[[ $answer == *'"completion_tokens":4'* ]] || { cat build/package-serve.log; fail "no answer: $answer"; }
kill "$pid" && wait "$pid"
pid=
ok serves_as_its_user

inside apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--force-confold /shoal-0.1.0+next.deb >>build/package.log 2>&1
wanted "version" "$(inside dpkg-query -W -f '${Version}' shoal)" "0.1.0+next"
grep -q '127.0.0.1:17411' "$root/etc/shoal/shoal.yaml" || fail "the upgrade lost the configuration"
ok upgrade_keeps_the_configuration

inside apt-get remove -y -q shoal >>build/package.log 2>&1
[ ! -e "$root/usr/bin/shoal" ] && [ -e "$root/etc/shoal/shoal.yaml" ] || fail "removed too little or too much"
inside apt-get purge -y -q shoal >>build/package.log 2>&1
[ -e "$root/var/lib/shoal/models/tale.gguf" ] || fail "the purge took the models"
ok purge_keeps_models

rm "$root/var/lib/shoal/models/tale.gguf"
inside apt-get install -y -q --no-install-recommends /shoal-0.1.0+next.deb >>build/package.log 2>&1
inside apt-get purge -y -q shoal >>build/package.log 2>&1
rest=$(find "$root" -xdev -name '*shoal*' ! -name 'shoal-*.deb' )
wanted "what is left" "$rest" ""
! grep -q '^shoal:' "$root/etc/passwd" || fail "the user is left"
ok purge_leaves_nothing
