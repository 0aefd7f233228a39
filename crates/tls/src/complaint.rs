//! Why a handshake has failed, in words for whoever runs the server: rustls's are for those who know its sources.

use rustls::{Error, InvalidMessage, PeerIncompatible};

/// What rustls says where no certificate was chosen for a client.
const NO_CERTIFICATE: &str = "no server certificate chain resolved";

/// A failure in words.
pub fn explained(failure: &Error) -> String {
    use PeerIncompatible::{
        NoCipherSuitesInCommon, NoKxGroupsInCommon, NoSignatureSchemesInCommon,
        SignatureAlgorithmsExtensionRequired, SupportedVersionsExtensionRequired, Tls12NotOffered,
        Tls12NotOfferedOrEnabled,
    };
    match failure {
        Error::General(said) if said == NO_CERTIFICATE => {
            "no certificate is for what the client asked for, and none is the default: name one by its file in howdah.tls_certificates".into()
        }
        Error::General(said) => said.clone(),
        // Clients before 1.2 name no signatures.
        Error::PeerIncompatible(
            Tls12NotOffered | Tls12NotOfferedOrEnabled | SupportedVersionsExtensionRequired | SignatureAlgorithmsExtensionRequired
        ) => {
            "the client speaks no version of TLS from 1.2 on".into()
        }
        Error::PeerIncompatible(NoCipherSuitesInCommon | NoKxGroupsInCommon) => {
            "the client and the server have no cipher in common".into()
        }
        Error::PeerIncompatible(NoSignatureSchemesInCommon) => {
            "the client can check no signature that the certificate's key makes".into()
        }
        Error::InvalidMessage(InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion) => {
            "what the client sent is no TLS".into()
        }
        Error::InvalidMessage(InvalidMessage::HandshakePayloadTooLarge) => "the hello of the client is too long".into(),
        Error::AlertReceived(alert) => format!("the client refused: {alert:?}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_do_wrong_is_said_in_words() {
        for (failure, words) in [
            (Error::General(NO_CERTIFICATE.into()), "none is the default"),
            (Error::General("a client spoke HTTP without TLS".into()), "a client spoke HTTP without TLS"),
            (Error::PeerIncompatible(PeerIncompatible::Tls12NotOfferedOrEnabled), "from 1.2 on"),
            (Error::PeerIncompatible(PeerIncompatible::SignatureAlgorithmsExtensionRequired), "from 1.2 on"),
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), "is no TLS"),
            (Error::AlertReceived(rustls::AlertDescription::UnknownCA), "the client refused: UnknownCA"),
            (Error::NoCertificatesPresented, "peer sent no certificates"),
        ] {
            let said = explained(&failure);
            assert!(said.contains(words) && !said.contains("unexpected error"), "{failure:?}: {said}");
        }
    }
}
