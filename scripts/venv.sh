# Sourced by the other scripts. `ready_venv EXTRA` leaves a .venv in the repository with labelwalk
# installed editable and that extra; it installs again only when pyproject.toml has changed.

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv_python=$root/.venv/bin/python

# One thread: linear algebra of this size gains nothing from more, and the sums stay reproducible.
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1

# Else each process, of which tests start hundreds, compiles all modules anew.
unset PYTHONDONTWRITEBYTECODE

ready_venv() {
    local extra=$1 stamp_file=$root/.venv/.labelwalk-$1 stamp
    stamp="$root $(cksum < "$root/pyproject.toml")"
    if [ "$(cat "$stamp_file" 2>/dev/null)" = "$stamp" ] && "$venv_python" -c '' 2>/dev/null; then
        return
    fi
    echo "Setting up .venv (about a minute) ..." >&2
    venv_works || create_venv
    "$venv_python" -m pip install -qq --disable-pip-version-check --editable "$root[$extra]"
    echo "$stamp" > "$stamp_file"
}

# A moved or copied environment still starts, but its commands belong to the old place.
venv_works() {
    local answer
    answer=$("$root/.venv/bin/pip" --version 2>/dev/null) && [[ $answer == *"$root/.venv/"* ]]
}

create_venv() {
    local python
    if ! python=$(suitable_python "import ensurepip, venv"); then
        install_venv_on_debian
        python=$(suitable_python "import ensurepip, venv") || complain_about_python
    fi
    "$python" -m venv --clear "$root/.venv"
}

# Prints the newest Python >= 3.11 on the path that can run the statement given.
suitable_python() {
    local candidate
    for candidate in python3.13 python3.12 python3.11 python3; do
        if "$candidate" -c "import sys; assert sys.version_info >= (3, 11); $1" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# Debian and Ubuntu ship Python without ensurepip.
install_venv_on_debian() {
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && suitable_python pass >/dev/null; then
        echo "Installing python3-venv ..." >&2
        apt-get update -qq >/dev/null && apt-get install -y -qq python3-venv >/dev/null || true
    fi
}

complain_about_python() {
    if suitable_python pass >/dev/null; then
        echo "This Python cannot create virtual environments (ensurepip is missing)." >&2
        echo "On Debian or Ubuntu: sudo apt-get install python3-venv" >&2
    else
        echo "labelwalk needs Python 3.11 or newer; none was found on the PATH." >&2
    fi
    exit 1
}
