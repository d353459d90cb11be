//! The bytes that both ends of a SPDY/3 connection give to zlib before the first header block (SPDY draft 3, 2.6.10.1).

/// Words with their lengths before them, as in a header block.
const WORDS: &[&str] = &[
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
];

/// Pieces of values, without lengths.
const REST: &str = concat!(
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Au",
    "thoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidd",
    "en404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr Ma",
    "y Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,imag",
    "e/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicpri",
    "vatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
);

/// How many bytes it has.
const BYTES: usize = 1423;

/// The dictionary.
pub static DICTIONARY: [u8; BYTES] = build();

const fn build() -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let (mut at, mut word) = (0, 0);
    while word < WORDS.len() {
        let text = WORDS[word].as_bytes();
        // Every word is shorter than 256 bytes: the first three bytes of its length are zero.
        bytes[at + 3] = text.len() as u8;
        at = copy(&mut bytes, at + 4, text);
        word += 1;
    }
    let end = copy(&mut bytes, at, REST.as_bytes());
    assert!(end == BYTES);
    bytes
}

const fn copy(bytes: &mut [u8; BYTES], at: usize, text: &[u8]) -> usize {
    let mut index = 0;
    while index < text.len() {
        bytes[at + index] = text[index];
        index += 1;
    }
    at + index
}
