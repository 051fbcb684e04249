use super::*;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Tree {
    Leaf(u16, Vec<u8>),
    Nest(u16, Vec<Tree>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf =
        (0u16..0x3fff, proptest::collection::vec(any::<u8>(), 0..20)).prop_map(|(k, v)| Tree::Leaf(k, v));
    leaf.prop_recursive(3, 24, 5, |inner| {
        (0u16..0x3fff, proptest::collection::vec(inner, 0..5)).prop_map(|(k, v)| Tree::Nest(k, v))
    })
}

fn write(builder: &mut Builder, tree: &Tree) {
    match tree {
        Tree::Leaf(kind, value) => {
            builder.attr(*kind, value);
        }
        Tree::Nest(kind, inner) => {
            builder.nested(*kind, |b| inner.iter().for_each(|t| write(b, t)));
        }
    }
}

fn same(attr: &Attr<'_>, tree: &Tree) -> bool {
    match tree {
        Tree::Leaf(kind, value) => attr.kind == *kind && attr.value == value,
        Tree::Nest(kind, inner) => {
            let read: Vec<_> = attr.attrs().collect();
            attr.kind == *kind && read.len() == inner.len() && read.iter().zip(inner).all(|(a, t)| same(a, t))
        }
    }
}

proptest! {
    #[test]
    fn messages_decode_to_what_was_encoded(
        kind: u16,
        flags: u16,
        header in proptest::collection::vec(any::<u8>(), 0..13),
        trees in proptest::collection::vec(tree(), 0..6),
    ) {
        let mut builder = Builder::new();
        builder.start(kind, flags).header(&header);
        trees.iter().for_each(|t| write(&mut builder, t));
        let mut twice = builder.as_bytes().to_vec();
        twice.extend_from_slice(builder.as_bytes());

        let messages: Vec<_> = Messages::new(&twice).collect();
        prop_assert_eq!(messages.len(), 2);
        for message in messages {
            prop_assert_eq!((message.kind, message.flags, message.seq), (kind, flags, 0));
            let attrs: Vec<_> = message.attrs(header.len()).collect();
            prop_assert_eq!(attrs.len(), trees.len());
            prop_assert!(attrs.iter().zip(&trees).all(|(a, t)| same(a, t)));
        }
    }

    #[test]
    fn no_input_makes_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), header in 0usize..40) {
        for message in Messages::new(&bytes) {
            let _ = Refusal::from_error(&message);
            let _ = Refusal::from_done(&message);
            for attr in message.attrs(header) {
                let _ = (attr.u8(), attr.u16(), attr.u32(), attr.u64(), attr.be16(), attr.ip(), attr.str());
                prop_assert!(attr.attrs().count() <= attr.value.len() / 4);
            }
        }
    }
}

#[test]
fn control_family_describes_itself() {
    let mut socket = Socket::open(Protocol::Generic).unwrap();
    let family = Family::resolve(&mut socket, "nlctrl").unwrap();
    assert_eq!(family.id, 16);
    assert!(family.group("notify").is_some(), "{family:?}");
    assert_eq!(family.group("nobody"), None);
}

#[test]
fn unknown_family_is_missing() {
    let mut socket = Socket::open(Protocol::Generic).unwrap();
    let error = Family::resolve(&mut socket, "no_such_family").unwrap_err();
    assert!(
        matches!(
            error,
            ResolveError::Missing {
                family: "no_such_family"
            }
        ),
        "{error:?}"
    );
}

#[test]
fn refusal_carries_the_kernels_words() {
    let mut socket = Socket::open(Protocol::Route).unwrap();
    let mut request = Builder::new();
    // RTM_GETLINK dump with a non-zero field that strict checking requires to be zero.
    request
        .start(18, 0)
        .header(&[0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let error = socket.dump(&mut request, |_| Ok(())).unwrap_err();
    let RequestError::Refused(refusal) = error else {
        panic!("{error:?}")
    };
    assert_eq!(refusal.errno, libc::EINVAL);
    assert!(refusal.says("Invalid values in header"), "{refusal}");
}

#[test]
fn a_socket_without_events_returns_none() {
    let mut socket = Socket::open(Protocol::Route).unwrap();
    assert!(socket.receive().unwrap().is_none());
}
