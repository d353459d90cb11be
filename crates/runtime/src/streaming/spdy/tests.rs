//! The codec against bytes that others made, against itself, and against nonsense.

use bytes::Bytes;

use super::*;

/// Two header blocks of one stream, packed by Python's zlib with the SPDY/3 dictionary:
/// `compressobj(9, DEFLATED, 15, 9, Z_DEFAULT_STRATEGY, dictionary)`, each followed by `flush(Z_SYNC_FLUSH)`.
const FIRST_BLOCK: &str =
    "78f9e3c6a7c202253a703a2b294a4dcc851625aca9a0808614cb45e01c6061606100a4398b20d198094ade8c0600000000ffff";
const SECOND_BLOCK: &str = "c2aa19540e2512d60b000000ffff";

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn syn_stream(id: u8, block: &str) -> Vec<u8> {
    let block = hex(block);
    let length = u8::try_from(block.len() + 10).unwrap();
    [&[0x80, 3, 0, 1, 0, 0, 0, length, 0, 0, 0, id, 0, 0, 0, 0, 0, 0][..], &block].concat()
}

fn every_frame() -> Vec<Frame> {
    let headers = Headers::new([("streamType", "data"), ("port", "80")]);
    let bytes = Bytes::from_static(b"hello");
    vec![
        Frame::SynStream {
            id: 1,
            associated: 7,
            priority: 5,
            fin: Fin::Last,
            ways: Ways::OpenerOnly,
            headers: headers.clone(),
        },
        Frame::SynReply { id: 1, fin: Fin::More, headers: headers.clone() },
        Frame::RstStream { id: 3, status: reset::CANCEL },
        Frame::Settings(vec![(SETTING_INITIAL_WINDOW, 1 << 20), (4, 100)]),
        Frame::Ping(9),
        Frame::GoAway { last: 5, status: go_away::PROTOCOL_ERROR },
        Frame::Headers { id: 5, fin: Fin::Last, headers: Headers::default() },
        Frame::WindowUpdate { id: 0, delta: 4096 },
        Frame::Data { id: 5, fin: Fin::More, bytes: bytes.clone() },
        Frame::Data { id: 5, fin: Fin::Last, bytes: Bytes::new() },
    ]
}

fn encoded(frames: &[Frame]) -> Vec<u8> {
    let (mut encoder, mut bytes) = (Encoder::default(), Vec::new());
    frames.iter().for_each(|frame| encoder.encode(frame, &mut bytes));
    bytes
}

#[test]
fn header_blocks_of_another_zlib_are_read() {
    let bytes = [syn_stream(1, FIRST_BLOCK), syn_stream(3, SECOND_BLOCK)].concat();
    let frames = Decoder::default().push(&bytes).unwrap();
    let expected = [(1, "error"), (3, "data")].map(|(id, kind)| Frame::SynStream {
        id,
        associated: 0,
        priority: 0,
        fin: Fin::More,
        ways: Ways::Both,
        headers: Headers::new([("streamType", kind), ("port", "8080"), ("requestID", "0")]),
    });
    assert_eq!(frames, expected);
    let Frame::SynStream { headers, .. } = &frames[0] else { panic!("{frames:?}") };
    assert_eq!(headers.get("requestID"), Some("0"));
}

#[test]
fn a_header_block_announces_the_dictionary_of_spdy_3() {
    let bytes = encoded(&every_frame()[..1]);
    assert_eq!(bytes[20..24], [0xe3, 0xc6, 0xa7, 0xc2], "the checksum of the dictionary, behind the zlib header");
}

#[test]
fn frames_have_the_bytes_that_the_protocol_says() {
    assert_eq!(encoded(&[Frame::Ping(2)]), hex("800300060000000400000002"));
    assert_eq!(encoded(&[Frame::RstStream { id: 1, status: 5 }]), hex("80030003000000080000000100000005"));
    assert_eq!(encoded(&[Frame::GoAway { last: 1, status: 0 }]), hex("80030007000000080000000100000000"));
    assert_eq!(encoded(&[Frame::WindowUpdate { id: 1, delta: 16 }]), hex("80030009000000080000000100000010"));
    let data = Frame::Data { id: 3, fin: Fin::Last, bytes: Bytes::from_static(b"ok") };
    assert_eq!(encoded(&[data]), hex("00000003010000026f6b"));
    let settings = Frame::Settings(vec![(7, 65536)]);
    assert_eq!(encoded(&[settings]), hex("800300040000000c000000010000000700010000"));
}

#[test]
fn every_frame_survives_the_way() {
    assert_eq!(Decoder::default().push(&encoded(&every_frame())).unwrap(), every_frame());
}

#[test]
fn bytes_may_come_one_at_a_time() {
    let mut decoder = Decoder::default();
    let mut frames: Vec<Frame> = Vec::new();
    for byte in encoded(&every_frame()) {
        for frame in decoder.push(&[byte]).unwrap() {
            match (frames.last_mut(), frame) {
                (Some(Frame::Data { id, fin, bytes }), Frame::Data { id: same, fin: newer, bytes: more })
                    if *id == same && *fin == Fin::More && !more.is_empty() =>
                {
                    *bytes = [bytes.as_ref(), more.as_ref()].concat().into();
                    *fin = newer;
                }
                (_, frame) => frames.push(frame),
            }
        }
    }
    assert_eq!(frames, every_frame());
}

#[test]
fn unknown_kinds_of_frames_are_passed_over() {
    let bytes = [hex("8003000a00000003aabbcc"), hex("800300060000000400000002")].concat();
    assert_eq!(Decoder::default().push(&bytes).unwrap(), [Frame::Ping(2)]);
    assert_eq!(Decoder::default().push(&hex("8003000a00000003aa")).unwrap(), []);
}

#[test]
fn what_is_no_spdy_is_refused_and_stays_refused() {
    let refused = [
        ("8002000600000004", SpdyError::Version(2)),
        ("8003000100ffffff", SpdyError::TooLong { kind: 1, length: 0xff_ffff }),
        ("80030006000000050000000200", SpdyError::WrongLength(6)),
        ("800300040000000c0000000900000007000100", SpdyError::WrongLength(4)),
        ("0000000000000001aa", SpdyError::StreamZero),
        ("80030003000000080000000000000005", SpdyError::StreamZero),
        ("800300080000000800000001ffffffff", SpdyError::Headers("they cannot be unpacked")),
    ];
    for (bytes, error) in refused {
        let mut decoder = Decoder::default();
        let bytes = [hex(bytes), vec![0; 8]].concat();
        assert_eq!(decoder.push(&bytes), Err(error));
        assert_eq!(decoder.push(&[0]), Err(SpdyError::Failed));
    }
}

/// A header block whose content is this, sent as HEADERS of stream 1.
fn raw_headers(content: &[u8]) -> Vec<u8> {
    let mut compress = flate2::Compress::new(flate2::Compression::best(), true);
    compress.set_dictionary(&dictionary::DICTIONARY).unwrap();
    let mut packed = Vec::with_capacity(content.len() + 1024);
    compress.compress_vec(content, &mut packed, flate2::FlushCompress::Sync).unwrap();
    let length = u32::try_from(packed.len() + 4).unwrap().to_be_bytes();
    [&[0x80, 3, 0, 8], &length[..], &[0, 0, 0, 1], &packed].concat()
}

#[test]
fn header_blocks_that_lie_about_themselves_are_refused() {
    let bomb = [&[0, 0, 0, 1, 0x7f, 0, 0, 0][..], &vec![b'a'; 1 << 20]].concat();
    let blocks: [&[u8]; 6] = [
        &bomb,
        &[0, 0, 0, 101],
        &[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff],
        &[0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0, 0, 0, 0],
        &[0, 0, 0, 2, 0, 0, 0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 1, b'a', 0, 0, 0, 0],
        &[0, 0, 0, 0, 0],
    ];
    for block in blocks {
        let answer = Decoder::default().push(&raw_headers(block));
        assert!(matches!(answer, Err(SpdyError::Headers(_))), "{answer:?}");
    }
    assert!(Decoder::default().push(&raw_headers(&[0; 4])).is_ok());
}

#[test]
fn nonsense_never_panics_and_never_piles_up() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let good = encoded(&every_frame());
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..1 + random() % 4 {
            let at = usize::try_from(random()).unwrap() % bytes.len();
            bytes[at] = random().to_le_bytes()[0];
        }
        bytes.truncate(usize::try_from(random()).unwrap() % bytes.len());
        let mut decoder = Decoder::default();
        for piece in bytes.chunks(1 + usize::try_from(random()).unwrap() % 40) {
            let Ok(frames) = decoder.push(piece) else { break };
            assert!(frames.len() <= piece.len(), "every frame needs a byte to complete it");
        }
    }
}
