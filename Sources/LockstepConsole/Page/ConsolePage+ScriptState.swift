extension ConsolePage {
    /// Time travel: the state after an entry, and the difference between two.
    static let scriptState = #"""
        const travel = { at: null, isLive: true, answer: null, values: new Map(), changed: new Set(), folded: new Set(), from: null };
        const mostChildren = 200;

        /** Goes to the state after an entry; null is live. */
        function travelTo(sequence) {
          travel.isLive = sequence === null;
          travel.at = sequence;
          $('live').setAttribute('aria-pressed', String(travel.isLive));
          drawSlider();
          readState(sequence);
          readDifference();
        }

        /** One state back or forward, from the newest if it is live. */
        function stepState(step) {
          const kept = keptStatus();
          if (!kept || kept.firstState === undefined) return;
          const now = travel.at ?? travel.answer?.sequence ?? kept.lastState;
          const next = Math.min(kept.lastState, Math.max(kept.firstState, now + step));
          if (next !== travel.at) travelTo(next);
        }

        function drawSlider() {
          const kept = keptStatus(), slider = $('slider');
          const isKept = Boolean(kept && kept.firstState !== undefined && kept.firstState !== null);
          for (const id of ['slider', 'at', 'back', 'forward', 'from']) $(id).disabled = !isKept;
          if (!isKept) { say($('kept'), 'no state is kept yet'); return; }
          slider.min = kept.firstState;
          slider.max = kept.lastState;
          const at = travel.at ?? kept.lastState;
          if (document.activeElement !== slider || travel.isLive) slider.value = at;
          slider.setAttribute('aria-valuetext', `state after entry ${at}`);
          if (document.activeElement !== $('at')) $('at').value = at;
          if (document.activeElement !== $('from')) $('from').value = fromWhere(kept, at);
          say($('kept'), `kept: ${whole.format(kept.firstState)} to ${whole.format(kept.lastState)}`);
        }

        /** Where the difference begins: what was typed, or the state before the one that is shown. */
        function fromWhere(kept, at) { return travel.from ?? Math.max(kept.firstState, at - 1); }

        const readState = latest(async sequence => {
          const store = page.store;
          if (!store || !page.status) return;
          try {
            const answer = await ask('/api/state', sequence === null ? { store } : { store, at: sequence });
            if (store !== page.store || sequence !== travel.at) return;
            takeState(answer);
          } catch (error) {
            if (store !== page.store || sequence !== travel.at) return;
            travel.answer = null;
            say($('state-note'), '');
            $('tree').replaceChildren(h('p', { className: 'problem' }, error.message));
          }
        });

        /** A state of the node, drawn with marks at what differs from the one that was shown before. */
        function takeState(answer) {
          travel.answer = answer;
          const value = parse(answer.json), values = new Map();
          collect(value, '', values);
          const isOther = travel.values.size === 0;
          travel.changed = new Set(isOther ? [] : [...values].filter(([path, text]) => travel.values.get(path) !== text).map(([path]) => path));
          travel.values = values;
          const cuts = answer.cuts.map(cut => cut.count ? `${cut.path || 'the state'}: ${whole.format(cut.count)} in all` : cut.path || 'the state');
          const words = [`after ${answer.epoch}:${answer.sequence}`, ...(answer.time ? [logTime(answer.time, true)] : [])];
          $('state-note').replaceChildren(words.join(', '), ...(cuts.length ? ['. Too large to be shown whole (', cuts.join('; '),
            '). All of it, on a stopped node or a copy: ', h('code', {}, answer.rest)] : []));
          drawTree(value);
          offerPaths(value);
        }

        /** Every place of a value that has no places of its own, with its text. */
        function collect(value, path, into) {
          if (value instanceof Exact) into.set(path, value.digits);
          else if (Array.isArray(value)) value.forEach((inner, index) => collect(inner, below(path, index), into));
          else if (value && typeof value === 'object') for (const [key, inner] of Object.entries(value)) collect(inner, below(path, key), into);
          else into.set(path, JSON.stringify(value));
        }

        function drawTree(value) {
          const focused = document.activeElement?.closest('#tree') ? document.activeElement.dataset.path : null;
          const filter = $('filter').value.trim().toLowerCase();
          const list = filter ? filtered(value, filter) : h('ul', {}, ...branch(value, ''));
          $('tree').replaceChildren(list);
          if (focused) [...$('tree').querySelectorAll('[data-path]')].find(element => element.dataset.path === focused)?.focus();
        }

        /** The rows of an object or a list; a value alone is one row. */
        function branch(value, path) {
          if (value === null || typeof value !== 'object' || value instanceof Exact) return [leaf('', value, path)];
          const pairs = Array.isArray(value) ? value.map((inner, index) => [index, inner]) : Object.entries(value);
          const rows = pairs.slice(0, mostChildren).map(([key, inner]) => {
            const at = below(path, key);
            const hasParts = inner !== null && typeof inner === 'object' && !(inner instanceof Exact);
            if (!hasParts) return leaf(String(key), inner, at);
            const size = Array.isArray(inner) ? inner.length : Object.keys(inner).length;
            if (size === 0) return h('li', {}, h('span', { className: 'key' }, `${key}: `), Array.isArray(inner) ? '[]' : '{}');
            const details = h('details', { open: !travel.folded.has(at) }, h('summary', {}, `${key} (${whole.format(size)})`),
              h('ul', {}, ...branch(inner, at)));
            details.firstChild.dataset.path = at;
            details.ontoggle = () => { if (details.open) travel.folded.delete(at); else travel.folded.add(at); };
            return h('li', {}, details);
          });
          if (pairs.length > mostChildren) rows.push(h('li', { className: 'soft' }, `and ${whole.format(pairs.length - mostChildren)} more: filter by path`));
          return rows;
        }

        function leaf(name, value, path) {
          const isNumber = typeof value === 'number' || value instanceof Exact;
          const text = value instanceof Exact ? value.digits : JSON.stringify(value);
          const classes = [isNumber ? 'number' : '', travel.changed.has(path) ? 'changed' : ''].join(' ').trim();
          const row = h('li', {}, h('span', { className: 'key' }, name ? `${name}: ` : ''), h('span', { className: classes }, text));
          if (isNumber) {
            const button = h('button', { type: 'button', onclick: () => togglePlot(path) }, 'plot');
            button.dataset.path = path;
            button.setAttribute('aria-label', `plot ${path}`);
            button.setAttribute('aria-pressed', String(plot.paths.includes(path)));
            row.append(button);
          }
          return row;
        }

        function filtered(value, filter) {
          const places = [];
          (function walk(inner, path) {
            if (places.length > mostChildren) return;
            if (inner !== null && typeof inner === 'object' && !(inner instanceof Exact)) {
              const pairs = Array.isArray(inner) ? inner.map((child, index) => [index, child]) : Object.entries(inner);
              for (const [key, child] of pairs) walk(child, below(path, key));
            } else if (path.toLowerCase().includes(filter)) places.push([path, inner]);
          })(value, '');
          const rows = places.slice(0, mostChildren).map(([path, inner]) => leaf(path, inner, path));
          if (!rows.length) rows.push(h('li', { className: 'soft' }, 'No path of what is shown here has that.'));
          return h('ul', {}, ...rows);
        }

        const readDifference = latest(async () => {
          const kept = keptStatus(), store = page.store;
          if ($('panel-difference').hidden || !kept || kept.firstState === undefined) return;
          const to = travel.at ?? kept.lastState, from = fromWhere(kept, to);
          try {
            const answer = await ask('/api/difference', { store, from, to });
            if (store !== page.store) return;
            $('difference').replaceChildren(
              h('p', { className: 'soft' }, `From the state after ${whole.format(from)} to the one after ${whole.format(to)}`),
              differenceTable(answer));
          } catch (error) { $('difference').replaceChildren(h('p', { className: 'problem' }, error.message)); }
        });

        /** What the live state needs once a second: nothing if nothing was committed, and little of a large one. */
        function followState() {
          drawSlider();
          const store = storeStatus();
          if (!travel.isLive || !store) return;
          const isNew = !travel.answer || travel.answer.sequence < store.commit || travel.answer.epoch !== store.epoch;
          // A large state is read again when somebody asks for it.
          if (isNew && !(travel.answer && travel.answer.cuts.length)) { readState(null); readDifference(); }
        }

        const panels = ['state', 'entry', 'difference'];
        function showPanel(name) {
          for (const panel of panels) {
            $(`panel-${panel}`).hidden = panel !== name;
            $(`tab-${panel}`).setAttribute('aria-selected', String(panel === name));
            $(`tab-${panel}`).tabIndex = panel === name ? 0 : -1;
          }
          if (name === 'difference') readDifference();
          if (name === 'entry' && log.chosen === null && log.lines.length) chooseEntry(log.lines[0].sequence);
        }

        """#
}
