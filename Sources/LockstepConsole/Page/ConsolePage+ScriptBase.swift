extension ConsolePage {
    /// What the other parts use: elements, numbers and times in words, questions to the node, the state of the page.
    static let scriptBase = #"""
        'use strict';

        /** What the page knows. Everything that is drawn is drawn from this. */
        const page = {
          status: null,         // the newest /api/status
          store: null,          // the name of the store that is shown
          heard: 0,             // when the node was last heard, by this clock
          series: new Map(),    // by store: [{at, commit, lag}], one a second
          alarms: new Set(),    // those that were announced
        };

        const $ = id => document.getElementById(id);

        /** An element with properties and children; texts become text, never HTML. */
        function h(name, properties, ...children) {
          const element = document.createElement(name);
          for (const [key, value] of Object.entries(properties || {})) {
            if (key in element && key !== 'list') element[key] = value; else element.setAttribute(key, value);
          }
          element.append(...children.filter(child => child !== null && child !== undefined));
          return element;
        }

        function s(name, attributes, ...children) {
          const element = document.createElementNS('http://www.w3.org/2000/svg', name);
          for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
          element.append(...children);
          return element;
        }

        /** Sets a text only if it is another, so that nothing is announced or drawn anew without need. */
        function say(element, text) { if (element.textContent !== text) element.textContent = text; }

        const whole = new Intl.NumberFormat('en');
        const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
        const count = number => Math.abs(number) < 1e7 ? whole.format(number) : short.format(number);
        const plural = (number, one, many) => `${whole.format(number)} ${number === 1 ? one : many}`;

        function seconds(value) {
          if (value < 10) return `${value.toFixed(1)} s`;
          if (value < 120) return `${Math.round(value)} s`;
          if (value < 7200) return `${Math.round(value / 60)} min`;
          return value < 172800 ? `${Math.round(value / 3600)} h` : `${Math.round(value / 86400)} d`;
        }

        function bytes(value) {
          const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
          let unit = 0;
          while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
          return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
        }

        const two = number => String(number).padStart(2, '0');
        const clock = date => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
        /** Microseconds since 1970, as the log has them. */
        function logTime(time, withDay) {
          const date = new Date(time / 1000);
          const day = withDay ? `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` : '';
          return `${day}${clock(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
        }

        /** Asks the node; an answer that is a problem is thrown as its text. */
        async function ask(path, parameters) {
          const query = new URLSearchParams(parameters).toString();
          const answer = await fetch(`${path}${query ? '?' + query : ''}`);
          const value = await answer.json().catch(() => ({ problem: `the node answered with status ${answer.status}` }));
          if (value.problem) throw new Error(value.problem);
          return value;
        }

        /** Runs one question at a time; of those that come meanwhile only the last is asked. */
        function latest(body) {
          let isRunning = false, next = null;
          return async function run(...values) {
            if (isRunning) { next = values; return; }
            isRunning = true;
            try { await body(...values); } finally {
              isRunning = false;
              if (next) { const values = next; next = null; run(...values); }
            }
          };
        }

        const storeStatus = () => page.status?.node.stores.find(store => store.name === page.store);
        const keptStatus = () => page.status?.kept.find(kept => kept.store === page.store);

        /** A whole number with more digits than a number of this language keeps. */
        class Exact { constructor(digits) { this.digits = digits; } }

        /** JSON whose whole numbers keep all their digits, where the browser can tell them. */
        function parse(text) {
          return JSON.parse(text, (key, value, context) =>
            typeof value === 'number' && !Number.isSafeInteger(value) && context?.source && /^-?\d+$/.test(context.source)
              ? new Exact(context.source) : value);
        }

        /** The path of a key below another, as the node reads it. */
        function below(path, key) {
          if (typeof key === 'number') return `${path}[${key}]`;
          if (/^[\p{L}\p{N}_]+$/u.test(key)) return path ? `${path}.${key}` : key;
          return `${path}[${JSON.stringify(key)}]`;
        }

        """#
}
