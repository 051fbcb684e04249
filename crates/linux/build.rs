//! Compiles `bpf/*.bpf.c` into objects that the library embeds. Running them needs no compiler.
//!
//! The kernel's structures come from `bpf/kernel.h`, and libbpf's headers from the copy that `libbpf-sys` is
//! built from. So nothing here depends on the kernel of the build machine. Paths are removed from the output,
//! so one source always gives the same object.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAMS: [&str; 9] = [
    "window",
    "clamp",
    "marker",
    "cc/empty",
    "cc/lia",
    "cc/olia",
    "cc/balia",
    "cc/cla",
    "cc/golden",
];

/// Compilers to try, in this order, when `CLANG` is not set.
const CLANGS: [&str; 7] = [
    "clang", "clang-14", "clang-16", "clang-17", "clang-18", "clang-19", "clang-15",
];

fn main() {
    let bpf = required_dir("CARGO_MANIFEST_DIR").join("../../bpf");
    let headers = required_dir("DEP_BPF_INCLUDE");
    let out = required_dir("OUT_DIR");
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-changed={}", bpf.display());
    let clang = find_clang();
    fs::create_dir_all(out.join("cc")).expect("cargo made the directory for build outputs");
    for program in PROGRAMS {
        compile(&clang, &bpf, &headers, &out, program);
    }
}

/// A directory that cargo sets in `variable`.
fn required_dir(variable: &str) -> PathBuf {
    env::var_os(variable)
        .map(PathBuf::from)
        .unwrap_or_else(|| panic!("cargo did not set {variable}"))
}

fn find_clang() -> String {
    let wanted = env::var("CLANG").ok();
    let candidates = wanted.as_deref().map_or(CLANGS.to_vec(), |clang| vec![clang]);
    let works = |clang: &&str| {
        let output = Command::new(clang).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    match candidates.into_iter().find(works) {
        Some(clang) => clang.to_owned(),
        None => fail(
            "no clang found to compile bpf/*.c: run `apt-get install clang` (14 or newer), or set CLANG to its path",
        ),
    }
}

fn compile(clang: &str, bpf: &Path, headers: &Path, out: &Path, program: &str) {
    let object = out.join(format!("{program}.bpf.o"));
    let output = Command::new(clang)
        .current_dir(bpf)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-c"])
        .args(["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"])
        .args(["-fdebug-compilation-dir", "."])
        .arg(format!("-ffile-prefix-map={}=libbpf", headers.display()))
        .arg("-isystem")
        .arg(headers)
        .args(multiarch_include())
        .arg(format!("{program}.bpf.c"))
        .arg("-o")
        .arg(&object)
        .output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => fail(&explain(program, &output)),
        Err(error) => fail(&format!("{clang} could not be started: {error}")),
    }
}

/// Debian keeps `asm/*.h` in a directory per architecture, which clang does not search for the target `bpf`.
fn multiarch_include() -> Vec<String> {
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let dir = format!("/usr/include/{architecture}-linux-gnu");
    if Path::new(&dir).is_dir() {
        vec!["-isystem".to_owned(), dir]
    } else {
        Vec::new()
    }
}

fn explain(program: &str, output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    let missing = |header: &str| errors.contains(&format!("'{header}' file not found"));
    if missing("linux/bpf.h") || missing("linux/types.h") || missing("asm/types.h") {
        return format!(
            "bpf/{program}.bpf.c needs the kernel's headers: run `apt-get install linux-libc-dev`\n{errors}"
        );
    }
    format!("bpf/{program}.bpf.c does not compile; clang 14 or newer is needed\n{errors}")
}

/// Ends the build with a message about the fix, without a backtrace.
fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo:warning={line}");
    }
    eprintln!("{message}");
    std::process::exit(1)
}
