//! Another request by the means of one that runs.

use form::signed_cookie::SigningKey;
use message::Request;
use pgrx::pg_sys::Oid;
use problem::Access;
use session::request_transaction::Scope;

use super::current::{CurrentRequest, PathParameter};
use super::forms::FormContext;
use super::run::Job;
use super::unpacked_body::UnpackedRequest;

impl<'j> Job<'j, '_> {
    /// The request, with its body unpacked if that was done.
    pub(super) fn request(&self) -> Request<'j> {
        self.unpacked.and_then(UnpackedRequest::get).unwrap_or(*self.request)
    }

    /// The request, which is [`Self::request`], as a function of this owner's sees it.
    pub(super) fn seen<'s>(
        &self,
        request: &'s Request<'s>,
        path: &'s [PathParameter<'s>],
        owner: Oid,
    ) -> CurrentRequest<'s>
    where
        'j: 's,
    {
        let key = SigningKey { secret: self.secret, owner: owner.to_u32() };
        CurrentRequest { request, path, types: self.types, client: self.client, form: self.form, key }
    }
}

impl Job<'_, '_> {
    /// Another request in the transaction of this one, in a subtransaction, as somebody else.
    pub(super) fn beneath<'n, 'q>(&'n mut self, request: &'n Request<'q>, access: Access) -> Job<'n, 'q> {
        let scope = Scope::Nested { read_only: access == Access::ReadOnly };
        Job { shown: false, ..self.another(request, access, scope) }
    }

    /// Another request by the same means.
    pub(super) fn another<'n, 'q>(
        &'n mut self,
        request: &'n Request<'q>,
        access: Access,
        scope: Scope,
    ) -> Job<'n, 'q> {
        Job {
            request,
            types: self.types,
            secret: self.secret,
            identity: self.identity,
            access,
            scope,
            shown: self.shown,
            client: self.client,
            open: self.open,
            receiver: self.receiver,
            preconditions: None,
            guard: None,
            records: false,
            keeps: false,
            called: self.called,
            path_guards: Vec::new(),
            unpacked: None,
            form: FormContext::default(),
        }
    }
}
