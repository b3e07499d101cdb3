"""The certificate of a listener that encrypts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True)
class TlsCertificate:
    """PEM files of a TLS server."""

    certificate: Path
    """File of the certificate, followed by the certificates that vouch for it."""
    key: Path
    """File of the certificate's private key, without a password."""

    @classmethod
    def of(cls, file: Path | None, key: Path | None) -> TlsCertificate | None:
        """The certificate that two command-line options name; None without either.

        Args:
            file: file of the certificate.
            key: file of the certificate's private key.

        Raises:
            UsageError: one of them is missing.
        """
        if (file is None) != (key is None):
            raise UsageError("TLS needs both files: --tls-cert and --tls-key")
        return None if file is None or key is None else cls(file, key)

    def context(self) -> ssl.SSLContext:
        """The TLS context of the server, for TLS 1.2 and later.

        Raises:
            UsageError: a file cannot be read, or the two do not belong together.
        """
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # an ssl.SSLError is one
            raise UsageError(
                f"{self.certificate}, {self.key}: no certificate with its key ({error.strerror or error})"
            ) from error
        return context
