extension ConsolePage {
    /// The list of entries, and one of them in full.
    static let scriptEntries = #"""
        const log = { lines: [], total: 0, hasOlder: false, chosen: null, isPaused: false };
        const mostLines = 400;

        /** Reads the newest lines anew: at the beginning, of another store or log, and when some were lost. */
        const readEntries = latest(async () => {
          const store = page.store;
          if (!store) return;
          try {
            const answer = await ask('/api/entries', { store, limit: 60 });
            if (store !== page.store) return;
            log.lines = answer.entries;
            log.hasOlder = answer.hasOlder;
            drawEntries();
          } catch (error) { say($('entries-note'), error.message); }
        });

        const readOlder = latest(async () => {
          const store = page.store, last = log.lines[log.lines.length - 1];
          if (!last) return;
          try {
            const answer = await ask('/api/entries', { store, before: last.sequence, limit: 60 });
            if (store !== page.store) return;
            log.lines.push(...answer.entries);
            log.hasOlder = answer.hasOlder && log.lines.length < 2000;
            drawEntries();
          } catch (error) { say($('entries-note'), error.message); }
        });

        /** What the event `entries` brings. */
        function takeEntries(news) {
          if (news.store !== page.store || log.isPaused) return;
          const isInOrder = news.total - news.count === log.total;
          log.total = news.total;
          // Along a log epochs never fall: an entry of a later one that counts no further is of a log that replaced it.
          const head = log.lines[0];
          const isOther = head && news.entries.some(line => line.epoch > head.epoch && line.sequence <= head.sequence);
          if (isOther) plot.points.clear();
          if (head && (isOther || !isInOrder)) { readEntries(); return; }
          const newest = head ? head.sequence : -1;
          const fresh = news.entries.filter(line => line.sequence > newest);
          const left = news.count - news.entries.length;
          if (left > 0 && fresh.length) fresh[fresh.length - 1].unseen = left;
          log.lines.unshift(...fresh);
          if (log.lines.length > mostLines) { log.lines.length = mostLines; log.hasOlder = true; }
          drawEntries(new Set(fresh.map(line => line.sequence)));
        }

        function entryRow(line, isNew) {
          const id = `entry-${line.sequence}`;
          const text = line.rejection ? `rejected: ${line.rejection}` : line.text || (line.mutations ? '' : 'no mutation');
          const more = line.mutations > 1 ? `  and ${plural(line.mutations - 1, 'mutation', 'mutations')} more` : '';
          return h('li', { id, role: 'option', className: isNew ? 'new' : '',
            'aria-selected': String(line.sequence === log.chosen), onclick: () => chooseEntry(line.sequence) },
            h('span', { className: 'number' }, whole.format(line.sequence)), h('span', { className: 'cause' }, line.cause),
            h('time', {}, logTime(line.time)), h('span', { className: 'text' }, text + more));
        }

        function drawEntries(fresh = new Set()) {
          const rows = [];
          for (const line of log.lines) {
            rows.push(entryRow(line, fresh.has(line.sequence)));
            if (line.missed) rows.push(h('li', { className: 'gap', role: 'presentation' },
              `${plural(line.missed, 'sequence number was', 'sequence numbers were')} passed over: too many to follow`));
            else if (line.unseen) rows.push(h('li', { className: 'gap', role: 'presentation' },
              `${plural(line.unseen, 'entry is', 'entries are')} not listed here`));
          }
          const list = $('entries'), top = list.scrollTop, height = list.scrollHeight;
          list.replaceChildren(...rows);
          // Who reads further down keeps the place.
          if (top > 8) list.scrollTop = top + list.scrollHeight - height;
          $('older').hidden = !log.hasOlder;
          markEntry();
          drawEntriesNote();
        }

        function drawEntriesNote() {
          const kept = keptStatus();
          const words = [];
          if (log.isPaused) words.push('paused');
          if (!kept) words.push('this program does not show the entries of this store');
          else if (!kept.isFollowed) words.push('not followed yet');
          else if (!log.lines.length) words.push('none in memory yet');
          else if (kept.missed) words.push(`${count(kept.missed)} passed over`);
          say($('entries-note'), words.join(' · '));
        }

        function markEntry() {
          const list = $('entries');
          for (const row of list.children) row.setAttribute('aria-selected', String(row.id === `entry-${log.chosen}`));
          const row = $(`entry-${log.chosen}`);
          if (row) list.setAttribute('aria-activedescendant', row.id); else list.removeAttribute('aria-activedescendant');
        }

        /** Shows an entry in full, and the state after it. */
        function chooseEntry(sequence, panel = 'entry') {
          log.chosen = sequence;
          markEntry();
          const row = $(`entry-${sequence}`);
          if (row) {
            const list = $('entries'), inner = row.getBoundingClientRect(), outer = list.getBoundingClientRect();
            if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
            if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
          }
          showPanel(panel);
          travelTo(sequence);
          readEntry(sequence);
        }

        /** Chooses the next older entry, or the next newer one. */
        function stepEntry(step) {
          if (!log.lines.length) return;
          const place = log.lines.findIndex(line => line.sequence === log.chosen);
          const next = place < 0 ? 0 : Math.min(log.lines.length - 1, Math.max(0, place + step));
          chooseEntry(log.lines[next].sequence);
        }

        const readEntry = latest(async sequence => {
          const panel = $('panel-entry');
          try {
            const answer = await ask('/api/entry', { store: page.store, sequence });
            if (log.chosen !== sequence) return;
            const line = answer.line;
            panel.replaceChildren(
              h('dl', { className: 'facts' }, ...[['Place', `${line.epoch}:${line.sequence}`],
                ['Time', logTime(line.time, true)], ['Cause', line.cause],
                ...(line.rejection ? [[line.kind === 'end' ? 'Failed' : 'Rejected', line.rejection]] : [])]
                .flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
              h('h3', {}, plural(line.mutations, 'mutation', 'mutations')),
              ...answer.mutations.map(text => h('pre', {}, pretty(text))),
              ...(answer.isCut ? [h('p', { className: 'soft' }, 'Some is left out here. All of it, on a stopped node or a copy: ',
                h('code', {}, answer.rest))] : []),
              h('h3', {}, 'What it changed'),
              answer.difference ? differenceTable(answer.difference)
                : h('p', { className: 'soft' }, 'The state before it is not kept here.'));
          } catch (error) {
            if (log.chosen === sequence) panel.replaceChildren(h('p', { className: 'problem' }, error.message));
          }
        });

        function pretty(text) {
          const value = parse(text);
          return JSON.stringify(value, (key, inner) => inner instanceof Exact ? inner.digits : inner, 2);
        }

        function differenceTable(difference) {
          if (difference.isTooLarge) {
            return h('p', { className: 'soft' }, 'The states are too large to be compared here. On a stopped node or a copy: ',
              h('code', {}, difference.rest));
          }
          if (!difference.changes.length) return h('p', { className: 'soft' }, 'Nothing changed.');
          const rows = difference.changes.map(change => h('tr', {}, h('td', { className: 'mono' }, change.path || 'the state'),
            h('td', { className: 'mono before' }, change.before ?? ''), h('td', { className: 'mono after' }, change.after ?? '')));
          const omitted = difference.omitted ? [h('p', { className: 'soft' }, `and ${whole.format(difference.omitted)} more`)] : [];
          return h('div', {}, h('table', {}, h('thead', {}, h('tr', {}, ...['Path', 'Before', 'After'].map(name =>
            h('th', { scope: 'col' }, name)))), h('tbody', {}, ...rows)), ...omitted);
        }

        """#
}
