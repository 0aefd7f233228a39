// howdah dev has put this at the end of the page: it loads the page again when something was saved. No deployment has it.
(() => {
  let made = document.currentScript.dataset.made;
  let source, again, wait = 1000;
  const close = () => {
    clearTimeout(again);
    source?.close();
    source = undefined;
  };
  // A style sheet's path with the digest that it has now takes the place of the one before, which goes when the other is there.
  const restyle = (styles) => {
    for (const link of document.querySelectorAll('link[rel~=stylesheet]')) {
      const path = decodeURI(new URL(link.href, location.href).pathname).replace(/\.[0-9a-f]{12}(\.[^./]*)$/, '$1');
      const name = Object.keys(styles).find((name) => path.endsWith('/' + name));
      if (!name) continue;
      const other = link.cloneNode();
      other.href = encodeURI(path.slice(0, -name.length) + styles[name]);
      if (other.href === link.href) continue;
      other.onload = other.onerror = () => link.remove();
      link.after(other);
    }
  };
  // Once for each state: a page that something keeps as it was would be loaded for ever.
  const compare = ({ data }) => {
    const [now, whole, ...styles] = data.split(' ');
    wait = 1000;
    if (now === made) return;
    const [run, number] = made.split('.');
    if (whole?.startsWith(`${run}.`) && +number >= +whole.split('.')[1]) {
      restyle(JSON.parse(styles.join(' ')));
      made = now;
      return;
    }
    const seen = `${made} ${now} ${location.href}`;
    if (sessionStorage.getItem('howdah') === seen) return;
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
