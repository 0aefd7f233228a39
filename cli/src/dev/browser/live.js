// howdah dev has put this at the end of the page: it loads the page again when something was saved. No deployment has it.
(() => {
  const made = document.currentScript.dataset.made;
  let source, again, wait = 1000;
  const close = () => {
    clearTimeout(again);
    source?.close();
    source = undefined;
  };
  // Once for each state: a page that something keeps as it was would be loaded for ever.
  const compare = ({ data }) => {
    const seen = `${made} ${data} ${location.href}`;
    wait = 1000;
    if (data === made || sessionStorage.getItem('howdah') === seen) return;
    sessionStorage.setItem('howdah', seen);
    location.reload();
  };
  // A page that nobody looks at holds no connection, of which browsers allow few: it asks when it is looked at.
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource('/.howdah/events');
    source.onmessage = compare;
    source.onerror = () => {
      if (source?.readyState !== EventSource.CLOSED) return;
      // Something else is there, or too many are: it is asked less and less often.
      close();
      again = setTimeout(open, (wait = Math.min(2 * wait, 60000)));
    };
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  addEventListener('pagehide', close);
  addEventListener('pageshow', open);
  open();
})();
