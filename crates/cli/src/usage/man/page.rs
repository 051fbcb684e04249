//! A manual page that describes no command.

use clap_mangen::roff::{Inline, Roff, bold, roman};

/// A manual page, built from its beginning.
pub struct Page {
    name: &'static str,
    section: &'static str,
    roff: Roff,
}

impl Page {
    pub fn new(name: &'static str, section: &'static str, about: &str) -> Self {
        let mut roff = Roff::new();
        let version = concat!("slowhand ", env!("CARGO_PKG_VERSION"));
        // Without the date, the same sources give the same page.
        roff.control("TH", [name, section, "", version]);
        let mut page = Self { name, section, roff };
        page.heading("NAME").text(&format!("{name} - {about}"));
        page
    }

    pub fn heading(&mut self, heading: &str) -> &mut Self {
        self.roff.control("SH", [heading]);
        self
    }

    /// A paragraph. Words between backquotes are set in bold.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.roff.control("PP", []);
        self.line(text)
    }

    /// A term, and what it means.
    pub fn item(&mut self, term: &str, text: &str) -> &mut Self {
        self.roff.control("TP", []);
        self.roff.text([bold(term)]);
        self.line(text)
    }

    /// Lines that stay as they are.
    pub fn lines(&mut self, lines: &str) -> &mut Self {
        self.roff.control("PP", []).control("EX", []);
        for line in lines.lines() {
            self.roff.text([roman(line)]);
        }
        self.roff.control("EE", []);
        self
    }

    fn line(&mut self, text: &str) -> &mut Self {
        let parts = text.split('`').zip([false, true].into_iter().cycle());
        let styled = |(part, is_code): (&str, bool)| if is_code { bold(part) } else { roman(part) };
        self.roff.text(parts.map(styled).collect::<Vec<Inline>>());
        self
    }

    pub fn file_name(&self) -> String {
        format!("{}.{}", self.name, self.section)
    }

    pub fn render(&self) -> String {
        self.roff.render()
    }
}
