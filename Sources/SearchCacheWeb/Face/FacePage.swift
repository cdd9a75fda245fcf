#if Web
    internal import Crypto
    internal import Foundation
    internal import NIOCore

    /// The page in which a person searches: one text, without anything from elsewhere.
    enum FacePage {
        /// The page.
        static let bytes = ByteBuffer(
            string: before + "<style>\(style)</style>\n" + between + "<script>\(script)</script>\n" + after)

        /// Lets the browser run and show what is in the page only, and talk to this node only.
        ///
        /// With trusted types demanded and none made, a browser also refuses to take a text for HTML.
        static let policy =
            "default-src 'none'; script-src '\(hash(script))'; style-src '\(hash(style))'; connect-src 'self'; "
            + "img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
            + "require-trusted-types-for 'script'; trusted-types 'none'"

        private static func hash(_ text: String) -> String {
            "sha256-" + Data(SHA256.hash(data: Data(text.utf8))).base64EncodedString()
        }

        private static let before = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <link rel="icon" href="data:,">
            <title>Search</title>

            """

        private static let between = """
            </head>
            <body>
            <a class="skip" href="#status">Skip to the answer</a>
            <header>
            <form id="form" role="search" action="/" method="get">
            <h1><label for="q">Search</label></h1>
            <input id="q" name="q" type="search" maxlength="256" autocomplete="off" autocapitalize="none" spellcheck="false"
             enterkeyhint="search" placeholder="Words to search for">
            <button type="submit">Search</button>
            </form>
            </header>
            <main>
            <p id="status" role="status" tabindex="-1"></p>
            <p id="facts" hidden></p>
            <p id="trouble" role="alert" hidden></p>
            <noscript><p>This page needs JavaScript. Programs use <code>/search?q=WORDS</code>.</p></noscript>
            <ol id="hits"></ol>
            <nav id="pages" aria-label="Pages" hidden>
            <a id="previous" rel="prev">← Previous</a>
            <span id="number"></span>
            <a id="next" rel="next">Next →</a>
            </nav>
            </main>
            <footer>
            <span id="node"></span>
            <a href="/openapi.yaml">Interface</a>
            <a href="/metrics">Metrics</a>
            <a href="/health">Health</a>
            </footer>

            """

        private static let after = """
            </body>
            </html>

            """

        private static let style = """

            :root { --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --back: #ffffff; --card: #f6f8fa;
              --link: #0b57d0; --memory: #116329; --memory-back: #dafbe1; --asked: #7d4e00; --asked-back: #fff1cc;
              --bad: #8c1d18; --bad-back: #ffe9e7; }
            @media (prefers-color-scheme: dark) {
              :root { --ink: #e6edf3; --soft: #9aa4af; --line: #30363d; --back: #0d1117; --card: #161b22;
                --link: #7ab7ff; --memory: #7ee2a0; --memory-back: #12361f; --asked: #f2cc60; --asked-back: #3a2d07;
                --bad: #ffb4ab; --bad-back: #4a1512; }
            }
            * { box-sizing: border-box; }
            [hidden] { display: none !important; }
            body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; background: var(--back);
              color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
            header, main, footer { width: 100%; max-width: 46rem; margin: 0 auto; padding: 0 1rem; }
            header { padding-top: 1.5rem; }
            main { flex: 1; }
            form { display: grid; grid-template-columns: 1fr auto; gap: .5rem; }
            h1 { grid-column: 1 / -1; margin: 0; font-size: 1.5rem; line-height: 1.2; }
            input, button { font: inherit; border-radius: .5rem; padding: .6rem .9rem; min-height: 2.75rem; }
            input { min-width: 0; width: 100%; border: 1px solid var(--soft); background: var(--back); color: var(--ink); }
            button { border: 1px solid var(--link); background: var(--link); color: var(--back); font-weight: 600;
              cursor: pointer; }
            a { color: var(--link); }
            :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
            #status { margin: 1rem 0 0; color: var(--soft); min-height: 1.5em; }
            #status:focus { outline: none; }
            #facts { display: flex; flex-wrap: wrap; gap: .35rem .75rem; align-items: center; margin: .25rem 0 0;
              color: var(--soft); font-size: .875rem; }
            .source { padding: .1rem .6rem; border-radius: 1rem; font-weight: 600; color: var(--asked);
              background: var(--asked-back); }
            .source.memory { color: var(--memory); background: var(--memory-back); }
            #trouble { margin: .75rem 0 0; padding: .6rem .9rem; border-radius: .5rem; color: var(--bad);
              background: var(--bad-back); overflow-wrap: anywhere; }
            ol { list-style: none; margin: 1rem 0 0; padding: 0; }
            li { padding: .9rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
            li h2 { margin: 0; font-size: 1.05rem; line-height: 1.35; font-weight: 600; }
            li .url { margin: .1rem 0 0; color: var(--soft); font-size: .8125rem; }
            li .snippet { margin: .3rem 0 0; }
            mark { background: var(--asked-back); color: inherit; border-radius: .2rem; }
            nav { display: grid; grid-template-columns: 1fr auto 1fr; align-items: center; gap: .5rem; padding: 1rem 0;
              border-top: 1px solid var(--line); }
            nav a { display: inline-block; padding: .6rem 0; min-height: 2.75rem; }
            nav #number { grid-column: 2; color: var(--soft); }
            nav #next { grid-column: 3; justify-self: end; }
            .busy ol { opacity: .45; }
            footer { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding-top: 1rem; padding-bottom: 1.25rem;
              color: var(--soft); font-size: .8125rem; }
            footer span { margin-right: auto; }
            .skip { position: absolute; left: -100vw; }
            .skip:focus { left: 1rem; top: .5rem; background: var(--back); padding: .25rem .5rem; }

            """

        private static let script = """

            "use strict";
            const at = id => document.getElementById(id);
            const put = (id, text) => { at(id).textContent = text; at(id).hidden = text === ""; };
            let asked = 0, asking = null;

            // What comes from elsewhere becomes text, never HTML; and a link only if it leads to a web page.
            const add = (parent, kind, text, name) => {
              const element = document.createElement(kind);
              element.textContent = text;
              if (name) element.className = name;
              parent.append(element);
              return element;
            };
            // Words of the query are marked as the index finds them, whatever their case and accents. They become elements
            // with texts, as all the rest.
            const word = /[\\p{L}\\p{N}\\p{M}\\p{Co}]+/gu;
            const fold = text => text.normalize("NFD").replace(/\\p{M}+/gu, "").toLowerCase();
            const wordsOf = text => new Set((text.match(word) ?? []).map(fold));
            const addMarked = (parent, text, wanted) => {
              let end = 0;
              for (const found of text.matchAll(word)) {
                if (!wanted.has(fold(found[0]))) continue;
                parent.append(text.slice(end, found.index));
                add(parent, "mark", found[0]);
                end = found.index + found[0].length;
              }
              parent.append(text.slice(end));
            };
            const webAddress = text => {
              try {
                const url = new URL(text);
                return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
              } catch { return null; }
            };
            const seconds = count => {
              const units = [[86400, "day"], [3600, "hour"], [60, "minute"]];
              for (const [size, name] of units) {
                if (count >= size) { const n = Math.floor(count / size); return `${n} ${name}${n === 1 ? "" : "s"}`; }
              }
              return `${count} second${count === 1 ? "" : "s"}`;
            };
            const micros = count => count < 1000 ? `${count} µs`
              : count < 1e6 ? `${(count / 1000).toFixed(1)} ms` : `${(count / 1e6).toFixed(2)} s`;
            const sources = { memory: "From memory", backend: "From the backend", joined: "From a request under way",
              nothing: "Nobody had to be asked" };
            const failures = { offline: "the backend cannot be reached", rateLimited: "the backend takes no more requests now",
              badAnswer: "the backend's answer cannot be read", server: "the backend failed",
              refused: "the backend does not take this query", timeout: "the backend did not answer in time",
              unavailable: "the primary cannot be reached" };
            const reason = failure => {
              const until = failure.until ? ` Again after ${new Date(failure.until).toLocaleTimeString()}.` : "";
              const what = failures[failure.kind];
              return `${what ? `${what}: ` : ""}${failure.message}.${until}`;
            };

            const address = (query, page) => {
              const parameters = new URLSearchParams({ q: query });
              if (page > 1) parameters.set("page", page);
              return `?${parameters}`;
            };
            const clear = () => {
              at("hits").replaceChildren();
              at("pages").hidden = true;
              put("facts", "");
              put("trouble", "");
            };

            const showHits = answer => {
              const list = document.createDocumentFragment();
              const wanted = wordsOf(answer.query);
              for (const hit of answer.hits) {
                const item = add(list, "li", "");
                const head = add(item, "h2", "");
                const url = webAddress(hit.url);
                const link = url ? add(head, "a", "") : head;
                if (url) {
                  link.href = url;
                  link.rel = "noopener noreferrer";
                }
                addMarked(link, hit.title || hit.url, wanted);
                if (hit.url) add(item, "p", hit.url, "url");
                if (hit.snippet) addMarked(add(item, "p", "", "snippet"), hit.snippet, wanted);
              }
              at("hits").replaceChildren(list);
            };

            const showFacts = (answer, node, travel) => {
              const facts = at("facts");
              facts.replaceChildren();
              facts.hidden = false;
              add(facts, "span", sources[answer.source] ?? answer.source, `source ${answer.source === "memory" ? "memory" : ""}`);
              if (node) add(facts, "span", `node ${node}`);
              if (answer.ageSeconds !== null) {
                add(facts, "span", answer.ageSeconds < 1 ? "fetched just now" : `fetched ${seconds(answer.ageSeconds)} ago`);
              }
              add(facts, "span", `took ${micros(answer.tookMicroseconds)} in the node, ${micros(Math.round(travel * 1000))} to this page`);
            };

            const showPages = answer => {
              const { query, page, lastPage, hits } = answer;
              const hasNext = hits.length > 0 && (lastPage === null || page < lastPage) && page < 1000;
              at("pages").hidden = page === 1 && !hasNext;
              at("previous").hidden = page === 1;
              at("next").hidden = !hasNext;
              at("previous").href = address(query, page - 1);
              at("next").href = address(query, page + 1);
              put("number", `Page ${page}${lastPage ? ` of ${lastPage}` : ""}`);
            };

            const show = (answer, node, travel) => {
              const count = answer.hits.length;
              const total = answer.total !== null && answer.total > count ? ` of ${answer.total.toLocaleString()}` : "";
              put("status", count === 0 ? `Nothing found for “${answer.query}”${answer.page > 1 ? ` on page ${answer.page}` : ""}.`
                : `${count}${total} hit${count === 1 && !total ? "" : "s"} for “${answer.query}”`);
              showHits(answer);
              showFacts(answer, node, travel);
              showPages(answer);
              put("trouble", answer.failure ? `This is what was found before; ${reason(answer.failure)}` : "");
            };

            const search = async moveFocus => {
              const wanted = new URLSearchParams(location.search);
              const query = wanted.get("q") ?? "";
              at("q").value = query;
              document.title = query ? `${query} · Search` : "Search";
              asking?.abort();
              const number = ++asked;
              if (!query.trim()) { clear(); at("status").textContent = ""; document.body.className = ""; return; }
              asking = new AbortController();
              document.body.className = "busy";
              put("status", "Searching …");
              const start = performance.now();
              try {
                const parameters = new URLSearchParams({ q: query });
                if (wanted.has("page")) parameters.set("page", wanted.get("page"));
                // What the browser kept would tell of the time when it was kept.
                const response = await fetch(`/search?${parameters}`, { signal: asking.signal, cache: "no-store" });
                const answer = await response.json();
                const node = response.headers.get("Lockstep-Node") ?? "";
                if (number !== asked) return;
                put("node", node ? `Node ${node}` : "");
                if (response.ok) {
                  show(answer, node, performance.now() - start);
                } else {
                  clear();
                  put("status", "No answer.");
                  put("trouble", reason({ kind: answer.error, message: answer.message, until: answer.until }));
                }
              } catch (error) {
                if (number !== asked || error.name === "AbortError") return;
                clear();
                put("status", "No answer.");
                put("trouble", `This node cannot be reached: ${error.message}`);
              }
              document.body.className = "";
              if (moveFocus) { at("status").focus(); window.scrollTo(0, 0); }
            };

            const go = target => { history.pushState(null, "", target); search(true); };
            at("form").addEventListener("submit", event => {
              event.preventDefault();
              history.pushState(null, "", address(at("q").value, 1));
              search(false);
            });
            at("pages").addEventListener("click", event => {
              const link = event.target.closest("a");
              if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
              event.preventDefault();
              go(link.getAttribute("href"));
            });
            document.addEventListener("keydown", event => {
              if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target === at("q")) return;
              event.preventDefault();
              at("q").focus();
              at("q").select();
            });
            window.addEventListener("popstate", () => search(false));
            if (!new URLSearchParams(location.search).get("q")) at("q").focus();
            search(false);

            """
    }
#endif
