/// The page of the console: a document, a style and a script of this module's own, without anything from elsewhere.
///
/// Its parts are in files beside this one, as a browser gets them.
enum ConsolePage {
    /// The script, in the order in which its parts use each other.
    static let script = [scriptBase, scriptCluster, scriptEntries, scriptState, scriptPlot, scriptStart].joined()

    /// The mark beside the page's title: a primary and its replicas in step.
    static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2f5fd0"/>
        <path d="M16 10 8 22M16 10v12M16 10l8 12" stroke="#fff" stroke-width="2.2"/>
        <g fill="#fff"><circle cx="16" cy="9" r="4"/><circle cx="7.5" cy="23" r="2.8"/><circle cx="16" cy="23" r="2.8"/>
        <circle cx="24.5" cy="23" r="2.8"/></g></svg>
        """

    /// The document; what it shows is filled in by the script.
    static let document = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <link rel="icon" href="/console.svg" type="image/svg+xml">
        <link rel="stylesheet" href="/console.css">
        <script src="/console.js" defer></script>
        <title>Lockstep</title>
        </head>
        <body>
        <a class="skip" href="#entries">Skip to the entries</a>
        <header>
          <svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><path d="M16 8 6 25M16 8v17M16 8l10 17"/>
            <circle cx="16" cy="7" r="5"/><circle cx="5" cy="26" r="3.5"/><circle cx="16" cy="26" r="3.5"/>
            <circle cx="27" cy="26" r="3.5"/></svg>
          <h1 id="node">Lockstep</h1>
          <span id="role" class="badge"></span>
          <span id="endpoint" class="soft"></span>
          <nav id="stores" aria-label="Stores"></nav>
          <p id="link" class="away" role="status">Connecting…</p>
          <button id="open-help" type="button" aria-haspopup="dialog">Keys <kbd>?</kbd></button>
        </header>
        <noscript><p class="note">This page needs JavaScript. Programs ask <code>/api/status</code>.</p></noscript>
        <section id="alarms" aria-labelledby="alarms-title" hidden>
          <h2 id="alarms-title">Alarms</h2>
          <ul id="alarm-list"></ul>
        </section>
        <p id="announcement" class="unseen" role="alert"></p>
        <main>
          <section class="card cluster" aria-labelledby="cluster-title">
            <div class="bar"><h2 id="cluster-title">Cluster</h2><span id="cluster-note" class="soft"></span></div>
            <table>
              <thead><tr><th scope="col">Node</th><th scope="col" class="wide">Digest</th><th scope="col" class="wide">Applied</th><th scope="col">Lag</th>
                <th scope="col">Last word</th></tr></thead>
              <tbody id="nodes"></tbody>
            </table>
            <p id="lost" class="soft" hidden></p>
          </section>
          <section class="card figures" aria-labelledby="figures-title">
            <div class="bar"><h2 id="figures-title">Store</h2><span id="phase" class="badge"></span></div>
            <dl id="figures"></dl>
            <details id="runs" hidden><summary></summary><ul></ul></details>
          </section>
          <section class="card plot" aria-labelledby="plot-title">
            <div class="bar"><h2 id="plot-title">Numbers of the state</h2>
              <form id="plot-form" class="push">
                <label for="plot-path" class="unseen">A number's path</label>
                <input id="plot-path" list="plot-paths" autocomplete="off" spellcheck="false" placeholder="values.visits">
                <datalist id="plot-paths"></datalist>
                <button type="submit">Plot</button>
              </form>
              <label class="choice">Last <select id="plot-span">
                <option value="60">minute</option><option value="300">5 minutes</option></select></label>
            </div>
            <ul id="legend"></ul>
            <svg id="plot" role="img" aria-label="No number is plotted"></svg>
            <p id="rate-title" class="soft">Entries a second</p>
            <svg id="rate" role="img" aria-label="Entries a second"></svg>
          </section>
          <section class="card log" aria-labelledby="entries-title">
            <div class="bar"><h2 id="entries-title">Entries</h2><span id="entries-note" class="soft"></span>
              <button id="pause" class="push" type="button" aria-pressed="false">Pause <kbd>p</kbd></button></div>
            <ol id="entries" role="listbox" tabindex="0" aria-labelledby="entries-title"></ol>
            <button id="older" type="button" hidden>Older entries</button>
          </section>
          <section class="card look" aria-labelledby="look-title">
            <div class="bar"><h2 id="look-title">Time travel</h2>
              <button id="live" class="push" type="button" aria-pressed="true">Live <kbd>l</kbd></button></div>
            <div class="travel">
              <button id="back" type="button" aria-label="The entry before, key [">‹</button>
              <label for="slider" class="unseen">State after entry, by slider</label>
              <input id="slider" type="range" min="0" max="0" value="0">
              <button id="forward" type="button" aria-label="The next entry, key ]">›</button>
              <label for="at">After entry</label>
              <input id="at" type="number" min="0" step="1" inputmode="numeric">
              <span id="kept" class="soft"></span>
            </div>
            <div role="tablist" aria-label="What is shown">
              <button role="tab" id="tab-state" aria-controls="panel-state" aria-selected="true">State</button>
              <button role="tab" id="tab-entry" aria-controls="panel-entry" aria-selected="false" tabindex="-1">Entry</button>
              <button role="tab" id="tab-difference" aria-controls="panel-difference" aria-selected="false"
                tabindex="-1">Difference</button>
            </div>
            <div role="tabpanel" id="panel-state" aria-labelledby="tab-state" tabindex="0">
              <label for="filter" class="unseen">Show places whose path has</label>
              <input id="filter" type="search" placeholder="Filter by path  /" autocomplete="off" spellcheck="false">
              <p id="state-note" class="soft"></p><div id="tree"></div>
            </div>
            <div role="tabpanel" id="panel-entry" aria-labelledby="tab-entry" tabindex="0" hidden></div>
            <div role="tabpanel" id="panel-difference" aria-labelledby="tab-difference" tabindex="0" hidden>
              <div class="travel"><label for="from">From the state after entry</label>
                <input id="from" type="number" min="0" step="1" inputmode="numeric">
                <span class="soft">to the one chosen above</span></div>
              <div id="difference"></div>
            </div>
          </section>
        </main>
        <footer class="soft"><span id="facts"></span> <span>Read only. <a href="/api/status">JSON</a></span></footer>
        <dialog id="help" aria-labelledby="help-title">
          <h2 id="help-title">Keys</h2>
          <dl>
            <dt><kbd>1</kbd> to <kbd>9</kbd></dt><dd>choose a store</dd>
            <dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>older and newer entry; in the list also the arrow keys</dd>
            <dt><kbd>[</kbd> <kbd>]</kbd></dt><dd>state before and after</dd>
            <dt><kbd>l</kbd></dt><dd>live: the newest state</dd>
            <dt><kbd>s</kbd> <kbd>e</kbd> <kbd>d</kbd></dt><dd>state, entry, difference</dd>
            <dt><kbd>g</kbd></dt><dd>go to an entry by its number</dd>
            <dt><kbd>/</kbd></dt><dd>filter the state</dd>
            <dt><kbd>p</kbd></dt><dd>pause the list of entries</dd>
            <dt><kbd>Esc</kbd></dt><dd>leave a field, close this</dd>
          </dl>
          <form method="dialog"><button>Close</button></form>
        </dialog>
        </body>
        </html>

        """#
}
