use super::*;

/// A directory of its own, removed at the end.
struct Desk(PathBuf);

impl Desk {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("slowhand-output-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
fn a_file_has_its_name_once_it_is_complete() {
    let desk = Desk::new("whole");
    std::fs::write(desk.path("a"), "old").unwrap();
    let output = Output::create(&desk.path("a")).unwrap();
    output
        .fill(|out| {
            out.write_all(b"new")?;
            out.flush()?;
            assert_eq!(desk.read("a"), "old", "until it is complete");
            Ok(())
        })
        .unwrap();
    assert_eq!(
        (desk.read("a"), desk.names()),
        ("new".to_owned(), vec!["a".to_owned()])
    );
    let failed = Output::create(&desk.path("a")).unwrap();
    let error = failed
        .fill(|out| {
            out.write_all(b"half")?;
            Err(io::Error::other("full"))
        })
        .unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        format!("{}: cannot be written: full", desk.path("a").display())
    );
    drop(Output::create(&desk.path("b")).unwrap());
    assert_eq!(
        (desk.read("a"), desk.names()),
        ("new".to_owned(), vec!["a".to_owned()])
    );
}

#[test]
fn rights_links_and_devices_stay_what_they_are() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let desk = Desk::new("kept");
    std::fs::write(desk.path("a"), "old").unwrap();
    std::fs::set_permissions(desk.path("a"), std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("a", desk.path("link")).unwrap();
    symlink("later", desk.path("dangling")).unwrap();
    Output::create(&desk.path("link")).unwrap().write(b"new").unwrap();
    Output::create(&desk.path("dangling"))
        .unwrap()
        .write(b"late")
        .unwrap();
    assert_eq!(desk.read("a"), "new");
    assert_eq!(desk.read("later"), "late");
    assert!(desk.path("link").is_symlink() && desk.path("dangling").is_symlink());
    let mode = std::fs::metadata(desk.path("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    Output::create(Path::new("/dev/null"))
        .unwrap()
        .write(b"gone")
        .unwrap();
    Rows::create(Path::new("/dev/null"))
        .unwrap()
        .finish_with(|_| Ok(()))
        .unwrap();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    assert!(Output::create(&desk.0).is_err(), "a directory");
}

#[test]
fn rows_are_there_at_once_and_nothing_is_lost_before_the_first() {
    let desk = Desk::new("rows");
    std::fs::write(desk.path("a"), "an older and longer one\n").unwrap();
    drop(Rows::create(&desk.path("a")).unwrap());
    assert_eq!(desk.read("a"), "an older and longer one\n");
    let mut rows = Rows::create(&desk.path("a")).unwrap();
    for (row, expected) in [("1\n", "1\n"), ("2\n", "1\n2\n")] {
        rows.add(row);
        assert_eq!(desk.read("a"), expected);
    }
    drop(rows);
    assert_eq!(desk.read("a"), "1\n2\n");
    let mut rows = Rows::create(&desk.path("a")).unwrap();
    rows.add("3\n");
    rows.finish_with(|out| out.write_all(b"all\n")).unwrap();
    assert_eq!(desk.read("a"), "all\n");
    drop(Rows::create(&desk.path("b")).unwrap());
    assert_eq!(desk.names(), ["a"], "nothing of a run that never began");
    Rows::create(&desk.path("c")).unwrap().finish().unwrap();
    assert_eq!(desk.read("c"), "");
}

#[test]
fn one_file_is_one_file_by_every_name() {
    let desk = Desk::new("same");
    std::fs::create_dir(desk.path("sub")).unwrap();
    std::fs::write(desk.path("in"), "x").unwrap();
    std::fs::hard_link(desk.path("in"), desk.path("hard")).unwrap();
    std::os::unix::fs::symlink("in", desk.path("soft")).unwrap();
    std::os::unix::fs::symlink("new", desk.path("to-new")).unwrap();
    let said = |outputs: &[&str], inputs: &[&str]| {
        let outputs: Vec<PathBuf> = outputs.iter().map(|name| desk.path(name)).collect();
        let options = ["--html", "--svg"].into_iter().zip(&outputs);
        let outputs: Vec<(&str, &Path)> = options.map(|(option, path)| (option, path.as_path())).collect();
        let inputs: Vec<(&str, PathBuf)> = inputs
            .iter()
            .map(|name| ("the scenario", desk.path(name)))
            .collect();
        distinct(&outputs, &inputs).map_err(|error| error.to_string().replace(desk.0.to_str().unwrap(), "D"))
    };
    let read = "this is the scenario, which is read; name another file";
    for name in ["in", "hard", "soft", "sub/../in", "./in"] {
        assert_eq!(said(&[name], &["in"]), Err(format!("--html D/{name}: {read}")));
    }
    let twice = "--html is the same file; name another for one of them";
    for name in ["new", "to-new", "sub/../new", "absent/../new", ".//new"] {
        assert_eq!(
            said(&["new", name], &["in"]),
            Err(format!("--svg D/{name}: {twice}"))
        );
    }
    assert_eq!(said(&["new", "other"], &["in"]), Ok(()));
    assert_eq!(said(&["new", "sub/new"], &["in"]), Ok(()));
}
