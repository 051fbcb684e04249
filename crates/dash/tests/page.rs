//! Tests of the page and the picture in a real browser: the script runs without errors, draws what it should,
//! and its controls work.

mod synthetic;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use synthetic::comparison;

/// Folder with a unique name per test and process, so that no two browsers share a profile.
fn scratch(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Finds the browser under one of its usual names.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().find_map(|name| {
        std::env::split_paths(&path)
            .map(|dir| dir.join(name))
            .find(|file| file.is_file())
    })
}

/// Result of opening a page: its elements after the scripts ran, and the console messages.
struct Visit {
    elements: String,
    console: Vec<String>,
}

/// Opens a file with this name and text. `None`, with the reason printed, if there is no browser.
fn visit(test: &str, name: &str, text: &str) -> Option<Visit> {
    visit_with(&[], test, name, text)
}

/// As [`visit`], with more arguments for the browser.
fn visit_with(more: &[&str], test: &str, name: &str, text: &str) -> Option<Visit> {
    let Some(browser) = browser() else {
        println!("skipped: needs chromium");
        return None;
    };
    let folder = scratch(test);
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--window-size=1280,900",
            "--enable-logging=stderr",
            "--dump-dom",
        ])
        .args(more)
        .arg("--virtual-time-budget=8000")
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .output()
        .expect("the browser starts");
    std::fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    Some(Visit {
        elements: String::from_utf8(output.stdout).unwrap(),
        console: said
            .lines()
            .filter(|line| line.contains("CONSOLE"))
            .map(str::to_owned)
            .collect(),
    })
}

fn page() -> String {
    let (records, document) = comparison();
    dash::page(&records, &document)
}

/// With virtual time a headless browser draws no frames. Timers still run, so frames are replaced by timers.
const FRAMES: &str = "<script>requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);</script></head>";

/// Uses every control once, and writes the results to the element `seen`.
const USE: &str = r#"<script>
addEventListener("load", () => setTimeout(() => {
  const seen = [];
  const slider = document.getElementById("time");
  slider.value = 20000;
  slider.dispatchEvent(new Event("input"));
  seen.push("slid to " + document.querySelector(".player output").textContent);
  document.querySelectorAll(".runner")[3].click();
  seen.push("pressed " + document.querySelectorAll('.runner[aria-pressed="true"]').length);
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", shiftKey: true, bubbles: true }));
  seen.push("stepped to " + document.querySelector(".player output").textContent);
  document.querySelectorAll(".row details").forEach((details) => (details.open = true));
  document.querySelector(".decisions button").click();
  const chart = document.querySelector(".chart svg");
  const box = chart.getBoundingClientRect();
  chart.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 200, clientY: box.top + 40, bubbles: true }));
  seen.push("tip " + !document.getElementById("tip").hidden);
  chart.querySelector(".decision").dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 200, clientY: box.top + 40, bubbles: true }));
  seen.push("decision tip " + document.getElementById("tip").textContent.includes("could carry"));
  dispatchEvent(new Event("resize"));
  const play = document.getElementById("play");
  play.click();
  const begin = Number(slider.value);
  seen.push("playing " + play.textContent.includes("Pause"));
  const watch = setInterval(() => {
    if (Number(slider.value) === begin) return;
    clearInterval(watch);
    seen.push("moved");
    const note = document.createElement("p");
    note.id = "seen";
    note.textContent = seen.join("; ");
    document.body.append(note);
  }, 50);
}, 100));
</script></body>"#;

#[test]
fn the_page_and_its_controls_work_in_a_browser() {
    let page = page();
    let Some(visit) = visit(
        "runs",
        "page.html",
        &page.replace("</head>", FRAMES).replace("</body>", USE),
    ) else {
        return;
    };
    assert_eq!(visit.console, Vec::<String>::new(), "the console has no messages");
    let elements = &visit.elements;
    assert!(
        elements.contains("data-ready=\"true\""),
        "the script ran to its end"
    );
    for expected in [
        "id=\"walker\"",
        "class=\"row ours\" aria-label=\"slowhand\"",
        "aria-label=\"tcp:lte\"",
        "class=\"stall\"",
        "class=\"fault\"",
        "aria-valuetext=",
        "ap3 drops everything",
        "&lt;while&gt; lte delivers &amp; a probe",
    ] {
        assert!(elements.contains(expected), "{expected} is missing");
    }
    for level in ["queue", "window", "held"] {
        assert!(draws(elements, level), "the {level} is not drawn");
    }
    let seen = elements
        .split("id=\"seen\">")
        .nth(1)
        .and_then(|rest| rest.split('<').next());
    let expected = "slid to 20.0\u{a0}s / 60\u{a0}s; pressed 1; stepped to 21.0\u{a0}s / 60\u{a0}s; tip true; decision tip true; \
                    playing true; moved";
    assert_eq!(
        seen.map(|seen| seen.replace("&nbsp;", "\u{a0}")).as_deref(),
        Some(expected)
    );
}

/// Whether the level has a line with at least one point. The line in the legend does not count.
fn draws(elements: &str, level: &str) -> bool {
    let class = format!("class=\"level level-{level}\"");
    let lines = elements.split("<path d=\"M").skip(1);
    let mut heads = lines.filter_map(|line| line.split('>').next());
    heads.any(|head| head.contains(&class))
}

/// Reports the requested colour scheme, and the texts whose contrast with their background is below 3 to 1
/// (WCAG 2.1).
const READ: &str = r#"<script>
addEventListener("load", () => setTimeout(() => {
  const numbers = (text) => {
    const [r, g, b, a = 1] = text.match(/-?[\d.]+/g).map(Number);
    return text.startsWith("color(") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = numbers(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0.5) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const poor = [];
  let words = 0;
  for (const element of document.querySelectorAll("h1, h2, h3, p, td, th, label, button, summary, text")) {
    if (!element.textContent.trim() || !element.getClientRects().length) continue;
    words++;
    const style = getComputedStyle(element);
    const ink = numbers(element.tagName === "text" ? style.fill : style.color).slice(0, 3);
    const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 3) poor.push(element.textContent.trim().slice(0, 30));
  }
  const note = document.createElement("p");
  note.id = "read";
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  note.textContent = (dark ? "dark" : "light") + (light(behind(document.body)) < 0.2 ? " on dark" : " on light") +
    (words > 40 ? "" : " only " + words) + "; poor: " + poor.join(", ");
  document.body.append(note);
}, 100));
</script></body>"#;

#[test]
fn the_page_is_readable_in_light_and_dark() {
    let page = page().replace("</head>", FRAMES).replace("</body>", READ);
    // Blink counts dark as 0 and light as 1.
    for (scheme, expected) in [(0, "dark on dark; poor: "), (1, "light on light; poor: ")] {
        let asked = format!("--blink-settings=preferredColorScheme={scheme}");
        let Some(visit) = visit_with(&[&asked], &format!("scheme{scheme}"), "page.html", &page) else {
            return;
        };
        assert_eq!(visit.console, Vec::<String>::new());
        let read = visit.elements.split("id=\"read\">").nth(1);
        assert_eq!(read.and_then(|rest| rest.split('<').next()), Some(expected));
    }
}

#[test]
fn a_script_error_fails_the_test() {
    let broken = page().replace("document.body.dataset.ready", "nowhere.at.all");
    let Some(visit) = visit("broken", "page.html", &broken) else {
        return;
    };
    assert!(
        visit
            .console
            .iter()
            .any(|line| line.contains("nowhere is not defined")),
        "{:?}",
        visit.console
    );
    assert!(!visit.elements.contains("data-ready"));
}

#[test]
fn a_single_run_without_a_plan_is_shown() {
    let (_, mut document) = comparison();
    document.runs.retain(|run| run.policy == trace::PolicyName::Mptcp);
    let Some(visit) = visit("single", "page.html", &dash::page(&[], &document)) else {
        return;
    };
    assert_eq!(visit.console, Vec::<String>::new());
    assert!(visit.elements.contains("data-ready=\"true\""));
}

#[test]
fn the_page_loads_nothing_from_the_network() {
    let page = page();
    // The only addresses are XML namespaces, which no browser opens.
    let addresses: Vec<&str> = page
        .match_indices("://")
        .map(|(at, _)| &page[at - 4..(at + 20).min(page.len())])
        .collect();
    assert!(
        addresses
            .iter()
            .all(|address| address.contains("www.w3.org/2000/s")),
        "{addresses:?}"
    );
    for banned in [
        "<link rel=\"stylesheet\"",
        "@import",
        "src=",
        "fetch(",
        "XMLHttpRequest",
    ] {
        assert!(!page.contains(banned), "{banned}");
    }
}

#[test]
fn names_from_a_scenario_are_escaped() {
    let (records, mut document) = comparison();
    document.scenario = "</script><script>alert(1)</script>".into();
    document.runs[0].policy = trace::PolicyName::Tcp("</script><b>".into());
    let page = dash::page(&records, &document);
    assert!(!page.contains("<script>alert") && !page.contains("<b>"));
}

#[test]
fn the_picture_is_well_formed() {
    let (records, document) = comparison();
    let picture = dash::svg(&records, &document);
    let Some(visit) = visit("picture", "picture.svg", &picture) else {
        return;
    };
    assert!(!visit.elements.contains("parsererror"), "{}", visit.elements);
    for expected in [
        "ap5</text>",
        "slowhand-no-window</text>",
        "fill=\"url(#wait)\"",
        "ap3 drops everything</text>",
    ] {
        assert!(visit.elements.contains(expected), "{expected} is missing");
    }
}

#[test]
fn a_malformed_picture_fails_the_test() {
    let (records, document) = comparison();
    let broken = dash::svg(&records, &document).replace("</svg>", "</g></svg>");
    let Some(visit) = visit("badpicture", "picture.svg", &broken) else {
        return;
    };
    assert!(visit.elements.contains("parsererror"));
}
