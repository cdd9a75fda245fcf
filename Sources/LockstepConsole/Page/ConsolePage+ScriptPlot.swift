extension ConsolePage {
    /// Plots of chosen numbers of the state, and of the rate.
    static let scriptPlot = #"""
        const plot = { paths: [], points: new Map(), isChosen: false, span: 60 };
        const mostPaths = 4;

        function togglePlot(path) {
          plot.isChosen = true;
          if (plot.paths.includes(path)) plot.paths = plot.paths.filter(other => other !== path);
          else plot.paths = [...plot.paths, path].slice(-mostPaths);
          for (const path of [...plot.points.keys()]) if (!plot.paths.includes(path)) plot.points.delete(path);
          for (const button of $('tree').querySelectorAll('button[data-path]')) {
            button.setAttribute('aria-pressed', String(plot.paths.includes(button.dataset.path)));
          }
          readValues();
          drawPlot();
        }

        /** Offers the numbers of a state, and chooses some as long as nobody has. */
        function offerPaths(value) {
          const paths = [];
          (function walk(inner, path) {
            if (paths.length >= 200) return;
            if (typeof inner === 'number' || inner instanceof Exact) paths.push(path);
            else if (Array.isArray(inner)) inner.forEach((child, index) => walk(child, below(path, index)));
            else if (inner && typeof inner === 'object') for (const [key, child] of Object.entries(inner)) walk(child, below(path, key));
          })(value, '');
          if ([...$('plot-paths').children].map(option => option.value).join() !== paths.join()) {
            $('plot-paths').replaceChildren(...paths.map(path => h('option', { value: path })));
          }
          if (!plot.isChosen && plot.paths.length === 0 && paths.length) {
            plot.paths = paths.slice(0, 3);
            readValues();
          }
        }

        /** The points that are new, of each number; the first time all that the node keeps. */
        const readValues = latest(async () => {
          const store = page.store;
          for (const path of plot.paths) {
            const points = plot.points.get(path) || [];
            const last = points[points.length - 1];
            if (last && last.sequence >= (storeStatus()?.commit ?? 0)) continue;
            plot.points.set(path, points);
            try {
              const answer = await ask('/api/values', { store, path, after: last ? last.sequence : 0 });
              // Of another store, no longer wanted, or asked before another log took the place of that one.
              if (store !== page.store || plot.points.get(path) !== points) continue;
              points.push(...answer.points.map(point => ({ ...point, at: point.time / 1000 })));
              // What a number was 6 minutes ago is on no plot.
              const end = page.status.at - 360000;
              while (points.length > 2000 || (points.length > 2 && points[1].at < end)) points.shift();
            } catch (error) { say($('rate-title'), error.message); }
          }
          drawPlot();
        });

        const tickSteps = [1, 2, 5, 10, 15, 30, 60];
        const width = svg => Math.max(240, svg.clientWidth || svg.parentElement.clientWidth - 32);

        /** Round numbers between two others. */
        function ticks(low, high, most) {
          const step = 10 ** Math.floor(Math.log10(Math.max(1e-9, (high - low) / most)));
          const factor = [1, 2, 5, 10].find(factor => (high - low) / (step * factor) <= most) || 10;
          const first = Math.ceil(low / (step * factor)), last = Math.floor(high / (step * factor));
          return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => (first + index) * step * factor);
        }

        /** Axes of a plot from a time to a time and from a value to a value. */
        function frame(svg, height, begin, end, low, high, most) {
          const wide = width(svg), left = 54, right = 10, top = 8, bottom = height > 100 ? 20 : 4;
          svg.setAttribute('viewBox', `0 0 ${wide} ${height}`);
          const x = at => left + (wide - left - right) * (at - begin) / (end - begin);
          const y = value => height - bottom - (height - top - bottom) * (value - low) / (high - low || 1);
          const parts = ticks(low, high, most).flatMap(value => [
            s('line', { class: 'grid', x1: left, x2: wide - right, y1: y(value), y2: y(value) }),
            s('text', { x: left - 7, y: y(value) + 4, 'text-anchor': 'end' }, short.format(value))]);
          const step = tickSteps.find(step => (end - begin) / 1000 / step <= wide / 90) || 60;
          // The lower plot has the times of the upper one.
          if (height > 100) for (let at = Math.ceil(begin / 1000 / step) * step * 1000; at <= end; at += step * 1000) {
            if (x(at) < left + 24 || x(at) > wide - 28) continue;
            parts.push(s('text', { x: x(at), y: height - 5, 'text-anchor': 'middle' }, clock(new Date(at))));
          }
          svg.replaceChildren(...parts);
          return { x, y, left, right: wide - right };
        }

        /** A number stays what it is until an entry changes it, so its line has steps. */
        function steps(points, axes, begin, end) {
          const known = points.filter(point => point.value !== undefined && point.value !== null);
          const before = known.filter(point => point.at < begin).pop();
          const shown = known.filter(point => point.at >= begin);
          if (before) shown.unshift({ ...before, at: begin });
          if (!shown.length) return '';
          let path = `M${axes.x(shown[0].at).toFixed(1)} ${axes.y(shown[0].value).toFixed(1)}`;
          for (const point of shown.slice(1)) path += `H${axes.x(point.at).toFixed(1)}V${axes.y(point.value).toFixed(1)}`;
          return path + `H${axes.x(end).toFixed(1)}`;
        }

        /** Where the plots begin: the span that was chosen, less while less is known, but for a quarter of a minute. */
        function beginning(rows, end) {
          const first = Math.min(end - 15000, ...rows.filter(points => points.length > 1).map(points => points[0].at),
            ...(page.series.get(page.store) || []).slice(0, 1).map(point => point.at));
          return Math.max(end - plot.span * 1000, first);
        }

        function drawPlot() {
          if (!page.status) return;
          const rows = plot.paths.map(path => plot.points.get(path) || []);
          const end = page.status.at, begin = beginning(rows, end);
          const values = rows.flat().filter(point => point.value !== null && point.value !== undefined && Number.isFinite(point.value))
            .map(point => point.value);
          let low = Math.min(0, ...values), high = Math.max(...values);
          if (!values.length) { low = 0; high = 1; }
          // Numbers that are large and change little are looked at from near.
          const least = Math.min(...values);
          if (values.length && least > 0 && high - least < least / 4) low = least - Math.max(1, (high - least) / 4);
          if (high <= low) high = low + 1;
          const axes = frame($('plot'), 190, begin, end, low, high, 5);
          rows.forEach((points, index) => {
            const path = steps(points, axes, begin, end);
            if (path) $('plot').append(s('path', { class: `line line${index}`, d: path }));
          });
          drawLegend(rows);
          const parts = plot.paths.map((path, index) => {
            const last = rows[index][rows[index].length - 1];
            return `${path} is ${last?.value ?? 'not there'}`;
          });
          $('plot').setAttribute('aria-label', parts.length ? `Plot of the last ${plot.span} seconds: ${parts.join(', ')}` : 'No number is plotted');
          drawRate(begin, end);
        }

        function drawLegend(rows) {
          const key = plot.paths.join('\n');
          const legend = $('legend');
          if (legend.dataset.key !== key) {
            legend.dataset.key = key;
            legend.replaceChildren(...plot.paths.map((path, index) => h('li', {},
              s('svg', { viewBox: '0 0 30 10', 'aria-hidden': 'true' }, s('path', { class: `line line${index}`, d: 'M0 5H30' })),
              h('span', { className: 'path mono' }, path), h('b', {}),
              h('button', { type: 'button', ariaLabel: `no longer plot ${path}`, onclick: () => togglePlot(path) }, '×'))));
            if (!plot.paths.length) legend.append(h('li', { className: 'soft' }, 'Choose numbers with “plot” beside them in the state, or by their path.'));
          }
          rows.forEach((points, index) => {
            const last = points[points.length - 1];
            say(legend.children[index].querySelector('b'), last && last.value !== null && last.value !== undefined ? count(last.value) : 'no number there');
          });
        }

        function drawRate(begin, end) {
          const points = rates(page.store).filter(point => point.at >= begin);
          const greatest = Math.max(1, ...points.map(point => point.value));
          const axes = frame($('rate'), 48, begin, end, 0, greatest, 3);
          if (!points.length) return;
          const line = points.map(point => `${axes.x(point.at).toFixed(1)},${axes.y(point.value).toFixed(1)}`);
          const ends = [axes.x(points[0].at), axes.x(points[points.length - 1].at)].map(x => x.toFixed(1));
          $('rate').append(s('polygon', { class: 'under', points: `${ends[0]},${axes.y(0)} ${line.join(' ')} ${ends[1]},${axes.y(0)}` }),
            s('polyline', { class: 'spark', points: line.join(' ') }));
          $('rate').setAttribute('aria-label', `Entries a second, now ${Math.round(points[points.length - 1].value)}, at most ${Math.round(greatest)}`);
        }

        """#
}
