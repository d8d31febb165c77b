//! Drawing a part of the graph: lines for a terminal, DOT for Graphviz, Mermaid. What users said is quoted as each form asks for. It must not
//! know how the part was found.

use crate::app::graph::Shown;

/// Lines for a terminal, one an exchange. Where branches part, each of them begins with `├─` and goes on one column further in.
pub(super) fn text(shown: &[Shown], previews: bool) -> String {
    shown.iter().map(|one| line(one, previews)).collect()
}

fn line(one: &Shown, previews: bool) -> String {
    let level = usize::try_from(one.level).unwrap_or_default();
    let mut line = "│ ".repeat(if one.parts { level.saturating_sub(1) } else { level });
    if one.parts {
        line.push_str("├─");
    }
    line.push_str("● ");
    line.push_str(&facts(one).join("  "));
    if previews {
        line.push_str("  ");
        line.push_str(&said(one, " → ", plain));
    }
    line.push('\n');
    line
}

/// What is said of each exchange in every form.
fn facts(one: &Shown) -> Vec<String> {
    let exchange = &one.node.exchange;
    let mut facts = vec![exchange.id.to_string(), format!("turn {}", exchange.turn)];
    if !one.node.ends_turn
        && let Some(state) = one.node.run_state
    {
        facts.push(state.word().to_owned());
    }
    if one.node.exchange.erased.is_some() {
        facts.push("erased".to_owned());
    }
    if one.hidden > 0 {
        facts.push(format!("after {} more", one.hidden));
    }
    for head in &one.heads {
        let name = if head.name.is_empty() { head.id.as_str() } else { &head.name };
        facts.push(format!("[{}]", plain(name)));
    }
    facts
}

fn said(one: &Shown, between: &str, quoted: impl Fn(&str) -> String) -> String {
    format!("{}{between}{}", quoted(&one.node.user_preview), quoted(&one.node.assistant_preview))
}

/// Text on one line, without what could move a terminal's cursor.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// DOT. The parts of all pages joined are one graph.
pub(super) fn dot(shown: &[Shown], previews: bool, is_first: bool, is_last: bool) -> String {
    let mut out = String::new();
    if is_first {
        out.push_str("digraph conversation {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    }
    for one in shown {
        let id = one.node.exchange.id;
        let mut label = facts(one).iter().map(|fact| dotted(fact)).collect::<Vec<_>>().join("\\n");
        if previews {
            label.push_str("\\n");
            label.push_str(&said(one, "\\n", dotted));
        }
        out.push_str(&format!("  \"{id}\" [label=\"{label}\"];\n"));
        if let Some(parent) = one.parent {
            let style = if one.hidden > 0 { " [style=dashed]" } else { "" };
            out.push_str(&format!("  \"{parent}\" -> \"{id}\"{style};\n"));
        }
    }
    if is_last {
        out.push_str("}\n");
    }
    out
}

/// Text inside the quotes of DOT.
fn dotted(text: &str) -> String {
    plain(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// Mermaid. The parts of all pages joined are one graph.
pub(super) fn mermaid(shown: &[Shown], previews: bool, is_first: bool) -> String {
    let mut out = String::new();
    if is_first {
        out.push_str("graph TD\n");
    }
    for one in shown {
        let id = one.node.exchange.id;
        let mut label = facts(one).iter().map(|fact| entities(fact)).collect::<Vec<_>>().join("<br/>");
        if previews {
            label.push_str("<br/>");
            label.push_str(&said(one, "<br/>", entities));
        }
        out.push_str(&format!("  x{id}[\"{label}\"]\n"));
        if let Some(parent) = one.parent {
            let arrow = if one.hidden > 0 { "-.->" } else { "-->" };
            out.push_str(&format!("  x{parent} {arrow} x{id}\n"));
        }
    }
    out
}

/// Text inside the quotes of Mermaid, which knows entities by their number alone.
fn entities(text: &str) -> String {
    let is_safe =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | ':' | '-' | '_' | '?' | '!' | '[' | ']');
    plain(text).chars().map(|c| if is_safe(c) { c.to_string() } else { format!("#{};", u32::from(c)) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_said_cannot_leave_its_quotes() {
        assert_eq!(dotted("a\"]; x -> y \\\n"), "a\\\"]; x -> y \\\\ ");
        assert_eq!(entities("\"]<b>"), "#34;]#60;b#62;");
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a [2Jb c");
    }
}
