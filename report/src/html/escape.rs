// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names come from files: nothing that they contain may become markup.

/// Text for element content and for attributes in double quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters are not allowed in HTML, not even as references.
            c if c.is_control() && c != '\n' && c != '\t' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// JSON text as a data island. `<` stands only inside JSON strings, where `\u003c` means the same; without it neither
/// `</script>` nor `<!--` can end or change the element.
pub(crate) fn island(id: &str, json: &str) -> String {
    format!(
        "<script type=\"application/json\" id=\"{}\">{}</script>\n",
        escape(id),
        json.replace('<', "\\u003c")
    )
}

/// Fills `{{name}}` places of a template in one pass, so that a value that looks like a place stays what it is.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else {
            filled.push_str("{{");
            rest = after;
            continue;
        };
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            filled.push_str(value);
        }
        rest = behind;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_stays_text() {
        assert_eq!(
            escape("<b>\"x\" & 'y'</b>\u{7}"),
            "&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;&lt;/b&gt;\u{fffd}"
        );
    }

    #[test]
    fn islands_cannot_be_left() {
        let island = island("a", r#"{"name":"</script><!--"}"#);
        assert_eq!(island.matches("</").count(), 1);
        assert!(!island.contains("<!--"));
    }

    #[test]
    fn values_are_not_templates() {
        assert_eq!(
            fill("{{a}}-{{b}}-{{missing}}.", &[("a", "{{b}}"), ("b", "2")]),
            "{{b}}-2-."
        );
    }
}
