//! Types of bytes that become fewer by a coding.

/// Whether bytes of a type become fewer by a coding: text does, and what is packed already does not.
pub fn gains(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or(media_type).trim().to_ascii_lowercase();
    let is_text = essence.starts_with("text/") || essence.ends_with("+json") || essence.ends_with("+xml");
    is_text
        || matches!(
            essence.as_str(),
            "application/json"
                | "application/javascript"
                | "application/xml"
                | "application/x-ndjson"
                | "application/wasm"
                | "application/vnd.ms-fontobject"
                | "application/vnd.apple.mpegurl"
                | "font/otf"
                | "font/ttf"
                | "font/collection"
                | "image/bmp"
                | "image/x-icon"
        )
}

#[cfg(test)]
mod tests {
    use super::gains;

    #[test]
    fn what_is_packed_already_gains_nothing() {
        for (media_type, does) in [
            ("text/css; charset=utf-8", true),
            ("Text/HTML", true),
            ("image/svg+xml", true),
            ("application/json", true),
            ("application/problem+json ; charset=utf-8", true),
            ("application/wasm", true),
            ("font/ttf", true),
            ("image/x-icon", true),
            ("font/woff2", false),
            ("image/png", false),
            ("video/mp4", false),
            ("application/zip", false),
            ("application/octet-stream", false),
            ("text", false),
            ("", false),
        ] {
            assert_eq!(gains(media_type), does, "{media_type}");
        }
    }
}
