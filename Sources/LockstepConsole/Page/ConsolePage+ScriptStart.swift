extension ConsolePage {
    /// The connection, the keys, and the beginning.
    static let scriptStart = #"""
        function choose(name) {
          if (!name || name === page.store) return;
          page.store = name;
          Object.assign(log, { lines: [], total: 0, hasOlder: false, chosen: null });
          Object.assign(travel, { at: null, isLive: true, answer: null, values: new Map(), changed: new Set(), from: null });
          Object.assign(plot, { paths: [], points: new Map(), isChosen: false });
          $('tree').replaceChildren();
          $('panel-entry').replaceChildren(h('p', { className: 'soft' }, 'Choose an entry in the list.'));
          $('difference').replaceChildren();
          say($('state-note'), '');
          showPanel('state');
          drawEntries();
          readEntries();
          if (page.status) { draw(); travelTo(null); }
        }

        function takeStatus(status) {
          const hadState = Boolean(keptStatus()?.isFollowed);
          page.status = status;
          remember(status);
          draw();
          followState();
          readValues();
          // The first time that there is something to list.
          if (!hadState && keptStatus()?.isFollowed) readEntries();
        }

        function draw() {
          drawHeader();
          drawAlarms();
          drawCluster();
          drawFigures();
          drawEntriesNote();
          drawPlot();
        }

        // MARK: the connection

        const link = { source: null, isThere: false, lostAt: null, wait: 1000, timer: null };

        function connect() {
          clearTimeout(link.timer);
          link.source?.close();
          const source = new EventSource('/api/events');
          link.source = source;
          const heard = take => event => {
            if (source !== link.source) return;
            page.heard = Date.now();
            if (!link.isThere) {
              Object.assign(link, { isThere: true, wait: 1000 });
              // What came meanwhile was told to nobody here.
              readEntries();
              drawLink();
            }
            take(JSON.parse(event.data));
          };
          source.addEventListener('status', heard(takeStatus));
          source.addEventListener('entries', heard(takeEntries));
          source.addEventListener('stopped', heard(({ problem }) => say($('announcement'), problem)));
          source.onerror = () => { if (source === link.source) lose(); };
        }

        /** The connection is lost: said with the time since when, and made again, at most every 5 seconds. */
        function lose() {
          link.source?.close();
          link.source = null;
          if (link.isThere || link.lostAt === null) link.lostAt = page.heard || Date.now();
          link.isThere = false;
          clearTimeout(link.timer);
          link.timer = setTimeout(connect, link.wait);
          link.wait = Math.min(5000, link.wait * 1.6);
          drawLink();
        }

        function drawLink() {
          $('link').className = link.isThere ? '' : 'away';
          if (link.isThere) say($('link'), 'Live');
          else if (document.hidden) say($('link'), 'Not connected while this page is hidden');
          else say($('link'), link.lostAt === null ? 'Connecting…'
            : `Not connected since ${clock(new Date(link.lostAt))}. Trying again.`);
        }

        // A status comes each second; a connection without one is none.
        setInterval(() => {
          if (link.source && page.heard && Date.now() - page.heard > 5000 && link.isThere) lose();
          drawLink();
        }, 1000);

        // A page that nobody sees costs the node nothing.
        document.addEventListener('visibilitychange', () => {
          clearTimeout(link.hiding);
          if (!document.hidden) { if (!link.source) connect(); return; }
          link.hiding = setTimeout(() => {
            link.source?.close();
            clearTimeout(link.timer);
            Object.assign(link, { source: null, isThere: false, lostAt: Date.now() });
            drawLink();
          }, 30000);
        });

        // MARK: controls and keys

        function setPaused(isPaused) {
          log.isPaused = isPaused;
          $('pause').setAttribute('aria-pressed', String(isPaused));
          drawEntriesNote();
          if (!isPaused) { log.total = -1; readEntries(); }
        }

        $('pause').onclick = () => setPaused(!log.isPaused);
        $('older').onclick = () => readOlder();
        $('live').onclick = () => travelTo(null);
        $('back').onclick = () => stepState(-1);
        $('forward').onclick = () => stepState(1);
        $('slider').oninput = () => travelTo(Number($('slider').value));
        $('at').onchange = () => { if ($('at').value !== '') travelTo(Number($('at').value)); };
        $('from').onchange = () => { travel.from = $('from').value === '' ? null : Number($('from').value); readDifference(); };
        $('filter').oninput = () => { if (travel.answer) drawTree(parse(travel.answer.json)); };
        $('plot-form').onsubmit = event => {
          event.preventDefault();
          const path = $('plot-path').value.trim();
          if (path && !plot.paths.includes(path)) togglePlot(path);
          $('plot-path').value = '';
        };
        $('plot-span').onchange = () => { plot.span = Number($('plot-span').value); drawPlot(); };
        $('open-help').onclick = () => $('help').showModal();
        for (const name of panels) $(`tab-${name}`).onclick = () => showPanel(name);
        new ResizeObserver(() => drawPlot()).observe($('plot'));

        $('entries').onkeydown = event => {
          const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[event.key];
          if (step === undefined) return;
          event.preventDefault();
          stepEntry(step);
        };

        document.querySelector('[role="tablist"]').onkeydown = event => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (!step) return;
          const place = panels.findIndex(name => !$(`panel-${name}`).hidden);
          const name = panels[(place + step + panels.length) % panels.length];
          showPanel(name);
          $(`tab-${name}`).focus();
        };

        const keys = {
          '?': () => $('help').showModal(), j: () => stepEntry(1), k: () => stepEntry(-1), '[': () => stepState(-1),
          ']': () => stepState(1), l: () => travelTo(null), s: () => showPanel('state'), e: () => showPanel('entry'),
          d: () => showPanel('difference'), g: () => $('at').focus(), p: () => setPaused(!log.isPaused),
          '/': () => { showPanel('state'); $('filter').focus(); },
        };

        document.addEventListener('keydown', event => {
          const isField = event.target.matches?.('input:not([type="range"]), select, textarea');
          if (event.key === 'Escape' && isField) event.target.blur();
          if (isField || event.ctrlKey || event.metaKey || event.altKey || $('help').open) return;
          if (/^[1-9]$/.test(event.key) && page.status) choose(page.status.node.stores[Number(event.key) - 1]?.name);
          const act = keys[event.key];
          if (!act) return;
          event.preventDefault();
          act();
        });

        showPanel('state');
        connect();

        """#
}
