extension ConsolePage {
    /// The upper half: who is primary, who follows and how far, figures, alarms, effects under way.
    static let scriptCluster = #"""
        /** What became of the store from one status to the next. */
        function remember(status) {
          for (const store of status.node.stores) {
            const series = page.series.get(store.name) || [];
            const last = series[series.length - 1];
            // The node began anew, or another log took the place of its own: what was is not comparable.
            if (last && store.commit < last.commit) {
              series.length = 0;
              if (store.name === page.store) { plot.points.clear(); readEntries(); }
            }
            series.push({ at: status.at, commit: store.commit, lag: greatestLag(status, store) });
            if (series.length > 320) series.splice(0, series.length - 320);
            page.series.set(store.name, series);
          }
        }

        /** What a node is for a store: of a data node each store says it. */
        function roleIn(node, store) { return store.dataNode ? store.dataNode.role : node.role; }

        /** Of a replica its own lag, of a primary that of the replica that is furthest behind. */
        function greatestLag(status, store) {
          if (roleIn(status.node, store) !== 'primary') return store.lag;
          const lags = store.peers.filter(peer => peer.role === 'replica').map(peer => peer.lag);
          return lags.length ? Math.max(...lags) : null;
        }

        /** Entries a second between each status and the one before. */
        function rates(name) {
          const series = page.series.get(name) || [];
          return series.slice(1).map((now, index) => {
            const before = series[index];
            return { at: now.at, value: (now.commit - before.commit) / Math.max(0.05, (now.at - before.at) / 1000) };
          });
        }

        /** The rate of the last seconds, so that it does not flicker. */
        function rateNow(name) {
          const series = page.series.get(name) || [];
          const last = series[series.length - 1];
          const before = [...series].reverse().find(point => last.at - point.at >= 2500) || series[0];
          return last && before && last.at > before.at ? (last.commit - before.commit) / ((last.at - before.at) / 1000) : null;
        }

        function drawHeader() {
          const node = page.status.node;
          say($('node'), node.node);
          say($('role'), node.role);
          $('role').className = node.role === 'primary' ? 'badge good' : 'badge';
          say($('endpoint'), node.endpoint || 'listens nowhere');
          document.title = `${node.node} (${node.role}) – Lockstep`;
          const names = node.stores.map(store => store.name);
          if (!names.includes(page.store)) choose(names[0]);
          const nav = $('stores');
          if ([...nav.children].map(child => child.textContent).join() !== names.join()) {
            nav.replaceChildren(...names.map(name => h('button', { type: 'button', onclick: () => choose(name) }, name)));
          }
          for (const child of nav.children) child.setAttribute('aria-current', String(child.textContent === page.store));
          say($('facts'), `cluster ${(node.cluster || 'not learnt yet').slice(0, 12)} · process ${node.process} · up `
            + `${seconds(node.uptimeSeconds)} · ${plural(page.status.readers, 'page', 'pages')} open`);
        }

        /** Alarms of all stores; one that is new is announced, one whose text changes is not announced again. */
        function drawAlarms() {
          const raised = page.status.node.stores.flatMap(store => store.alarms.map(text => ({ store: store.name, text })));
          $('alarms').hidden = raised.length === 0;
          const rows = raised.map(({ store, text }) => {
            const [name, ...rest] = text.split(': ');
            return h('li', {}, h('code', {}, name), ` at ${store}: ${rest.join(': ')}`);
          });
          $('alarm-list').replaceChildren(...rows);
          const names = new Set(raised.map(({ store, text }) => `${text.split(': ')[0]} at ${store}`));
          const begun = [...names].filter(name => !page.alarms.has(name));
          const ended = [...page.alarms].filter(name => !names.has(name));
          page.alarms = names;
          if (begun.length) say($('announcement'), `Alarm: ${begun.join(', ')}`);
          else if (ended.length) say($('announcement'), `Alarm ended: ${ended.join(', ')}`);
        }

        function nodeRow(name, kind, mark, applied, lag, word, isOwn, isLate) {
          return h('tr', { className: isOwn ? 'own' : '' },
            h('td', {}, name, h('span', { className: 'kind' }, kind)), h('td', { className: 'wide mono' }, mark),
            h('td', { className: 'wide' }, applied),
            h('td', {}, lag), h('td', { className: isLate ? 'late' : '' }, word));
        }

        function drawCluster() {
          const node = page.status.node, store = storeStatus();
          if (!store) return;
          const isPrimary = roleIn(node, store) === 'primary';
          const rows = [nodeRow(`${node.node}`, `${roleIn(node, store)}, this node`, digest(store.mark), count(store.sequence),
            store.lag === null ? '?' : count(store.lag), 'now', true, false)];
          if (isPrimary) {
            rows.push(...peerRows(store, ''));
            const replicas = store.peers.filter(peer => peer.role === 'replica').length;
            say($('cluster-note'), `this node is the primary; ${plural(replicas, 'replica', 'replicas')}`);
          } else {
            const silence = store.primarySilentSeconds;
            const isLate = silence === null || silence > 3;
            const told = primaryStore(store.name);
            rows.push(nodeRow(told ? page.status.primary.node : node.primary || 'its primary',
              told ? 'primary' : 'primary, as this node hears it', told ? digest(told.mark) : '–',
              store.lag === null ? '?' : count(store.sequence + store.lag), '0',
              silence === null ? 'never heard' : `${isLate ? '▲ ' : ''}${seconds(silence)} ago`, false, isLate));
            if (told) rows.push(...peerRows(told, node.node));
            say($('cluster-note'), `follows ${node.primary || 'no primary'}`);
          }
          $('nodes').replaceChildren(...rows);
          const heard = isPrimary ? store : primaryStore(store.name);
          const more = heard ? heard.peerCount - heard.peers.length : 0;
          $('lost').hidden = heard !== null && more <= 0;
          say($('lost'), heard ? `and ${whole.format(more)} more, which lockstep status lists`
            : 'The primary does not answer, and it alone knows the other replicas.');
        }

        /** What the primary of a replica says of a store; null while it does not answer. */
        function primaryStore(name) {
          const primary = page.status.primary;
          return (primary && primary.stores.find(store => store.name === name)) || null;
        }

        function digest(mark) { return mark ? `${mark.digest.slice(0, 8)} at ${count(mark.sequence)}` : '–'; }

        /** Those that a primary hears, without this node itself. */
        function peerRows(store, own) {
          const heard = store.peers.filter(peer => peer.node !== own).map(peer => {
            const isLate = peer.silentSeconds > 3;
            return nodeRow(peer.node, peer.role, digest(peer.mark), count(peer.applied), count(peer.lag),
              `${isLate ? '▲ ' : ''}${seconds(peer.silentSeconds)} ago`, false, isLate);
          });
          const lost = store.lostReplicas.filter(peer => peer.node !== own).map(peer => nodeRow(peer.node, 'replica, lost',
            digest(peer.mark), count(peer.applied), '?', `▲ ${seconds(peer.silentSeconds)} ago`, false, true));
          return [...heard, ...lost];
        }

        function sparkline(values) {
          const known = values.filter(value => value !== null);
          const svg = s('svg', { viewBox: '0 0 100 26', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
          if (known.length < 2) return svg;
          const greatest = Math.max(1, ...known);
          const points = values.map((value, index) =>
            [index * 100 / (values.length - 1), 25 - 23 * (value ?? 0) / greatest].map(number => number.toFixed(1)).join(','));
          svg.append(s('polygon', { class: 'under', points: `0,26 ${points.join(' ')} 100,26` }),
            s('polyline', { class: 'spark', points: points.join(' ') }));
          return svg;
        }

        function drawFigures() {
          const store = storeStatus();
          if (!store) return;
          const isGood = store.phase === 'admitting' || store.phase === 'live';
          say($('figures-title'), `Store ${store.name}`);
          say($('phase'), store.phase);
          $('phase').className = isGood ? 'badge good' : 'badge bad';
          const rate = rateNow(store.name), journal = store.journal;
          const minute = (page.series.get(store.name) || []).slice(-60);
          const runs = page.status.runs.find(run => run.store === store.name);
          const isPrimary = roleIn(page.status.node, store) === 'primary';
          const lag = minute.length ? minute[minute.length - 1].lag : null;
          const rows = [
            ['Entries a second', rate === null ? '–' : count(Math.round(rate)), sparkline(rates(store.name).slice(-60).map(p => p.value))],
            [isPrimary ? 'Greatest lag of a replica' : 'Lag', lag === null ? (isPrimary ? 'no replica' : '?') : count(lag),
              sparkline(minute.map(point => point.lag))],
            ['Committed', count(store.commit), `epoch ${store.epoch}`],
            ['Digest mark', store.mark ? store.mark.digest.slice(0, 8) : '–',
              store.mark ? `at ${count(store.mark.sequence)}` : 'none yet'],
            ['Sessions', count(store.sessionCount), `${whole.format(store.unanswered)} unanswered here`],
            ['Effects under way', isPrimary ? count(runs ? runs.count : 0) : '–', isPrimary ? '' : 'run on the primary'],
            ['Journal', journal ? bytes(journal.batchBytes + journal.snapshotBytes) : 'none',
              journal && journal.freeBytes !== null && journal.freeBytes !== undefined ? `${bytes(journal.freeBytes)} free` : ''],
          ];
          $('figures').replaceChildren(...rows.map(([name, value, more]) => h('div', {}, h('dt', {}, name),
            h('dd', {}, value, typeof more === 'string' ? h('small', {}, more) : more))));
          drawRuns(runs);
        }

        function drawRuns(runs) {
          $('runs').hidden = !runs;
          if (!runs) return;
          const more = runs.count - runs.oldest.length;
          say($('runs').querySelector('summary'), `${plural(runs.count, 'effect', 'effects')} under way`);
          $('runs').querySelector('ul').replaceChildren(...runs.oldest.map(run =>
            h('li', {}, h('span', { className: 'mono' }, run.id), ` accepted at ${count(run.sequence)}, `
              + `${plural(run.emissions, 'emission', 'emissions')}, attempt ${run.attempts}, `
              + (run.isRunning ? 'running' : 'waiting'))),
            ...(more > 0 ? [h('li', { className: 'soft' }, `and ${whole.format(more)} more`)] : []));
        }

        """#
}
