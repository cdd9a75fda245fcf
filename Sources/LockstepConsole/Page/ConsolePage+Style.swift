extension ConsolePage {
    /// The style: one accent, numerals of one width, light and dark.
    static let style = #"""
        :root { --ink: #1d2430; --soft: #5d6778; --line: #dfe4ec; --back: #f5f7fa; --card: #ffffff; --quiet: #eef1f6;
          --accent: #2f5fd0; --accent-back: #e8eefb; --on-accent: #ffffff; --bad: #a3231b; --bad-back: #fdeceb;
          --radius: 10px; color-scheme: light dark; }
        @media (prefers-color-scheme: dark) {
          :root { --ink: #e3e8f1; --soft: #98a3b6; --line: #2a3240; --back: #10141b; --card: #171c25; --quiet: #1f2530;
            --accent: #8aaeff; --accent-back: #1d2a47; --on-accent: #0d1526; --bad: #ff9d94; --bad-back: #3a1a1a; }
        }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        body { margin: 0 auto; padding: 0 20px 20px; max-width: 1500px; color: var(--ink); background: var(--back);
          font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
          font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; }
        h1, h2, p, dl, dd, ul, ol { margin: 0; padding: 0; }
        h1 { font-size: 17px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
        h2 { font-size: 13px; font-weight: 650; letter-spacing: 0.01em; }
        ul, ol { list-style: none; }
        a { color: var(--accent); }
        .soft { color: var(--soft); font-size: 13px; }
        .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
        .skip { position: absolute; left: 8px; top: -60px; padding: 8px 12px; background: var(--accent);
          color: var(--on-accent); border-radius: 6px; z-index: 2; }
        .skip:focus { top: 8px; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }

        button, select, input { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
          border-radius: 7px; padding: 4px 10px; min-height: 32px; }
        button { cursor: pointer; }
        button:hover { border-color: var(--accent); }
        button[aria-pressed="true"], nav button[aria-current="true"] { background: var(--accent-back);
          border-color: var(--accent); color: var(--accent); font-weight: 600; }
        button:disabled { opacity: 0.45; cursor: default; border-color: var(--line); }
        input::placeholder { color: var(--soft); }
        input[type="range"] { accent-color: var(--accent); padding: 0; border: 0; background: none; }
        kbd { font: 11px/1 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; color: var(--soft);
          border: 1px solid var(--line); border-radius: 4px; padding: 1px 4px; background: var(--quiet); }
        .badge { font-size: 12px; font-weight: 600; padding: 1px 9px; border-radius: 99px; background: var(--quiet);
          color: var(--soft); white-space: nowrap; }
        .badge:empty { display: none; }
        .badge.good { background: var(--accent-back); color: var(--accent); }
        .badge.bad { background: var(--bad-back); color: var(--bad); }

        header { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 12px; padding: 14px 0; }
        .mark { width: 24px; height: 24px; fill: var(--accent); stroke: var(--accent); stroke-width: 2; }
        nav { display: flex; flex-wrap: wrap; gap: 6px; margin-left: 8px; }
        #link { margin-left: auto; display: flex; align-items: center; gap: 7px; font-size: 13px; color: var(--soft); }
        #link::before { content: ""; width: 9px; height: 9px; border-radius: 50%; background: var(--accent); }
        #link.away { color: var(--bad); font-weight: 600; }
        #link.away::before { background: none; border: 2px solid var(--bad); border-radius: 1px; transform: rotate(45deg); }

        #alarms { background: var(--bad-back); color: var(--bad); border-radius: var(--radius); padding: 12px 16px;
          margin-bottom: 14px; }
        #alarms li { overflow-wrap: anywhere; }
        #alarms li::before { content: "▲ "; }
        #alarms code { font-weight: 650; }
        .note { padding: 12px 0; }

        main { display: grid; gap: 14px; grid-template-columns: minmax(0, 5fr) minmax(0, 7fr);
          grid-template-areas: "cluster figures" "plot plot" "log look"; }
        .card { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); padding: 14px 16px;
          min-width: 0; }
        .cluster { grid-area: cluster; } .figures { grid-area: figures; } .plot { grid-area: plot; }
        .log { grid-area: log; } .look { grid-area: look; }
        .bar { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 12px; margin-bottom: 10px; min-height: 32px; }
        .push { margin-left: auto; }

        table { width: 100%; border-collapse: collapse; }
        th { text-align: left; font-size: 12px; font-weight: 500; color: var(--soft); padding: 0 10px 4px 0; }
        td { padding: 5px 10px 5px 0; border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
        th:last-child, td:last-child { padding-right: 0; }
        .cluster td:not(:first-child), .cluster th:not(:first-child) { text-align: right; white-space: nowrap; }
        td .kind { display: block; font-size: 12px; font-weight: 400; color: var(--soft); }
        td.late, .late { color: var(--bad); font-weight: 600; }
        tr.own td:first-child { font-weight: 600; }

        #figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px 18px; }
        #figures dt { font-size: 12px; color: var(--soft); }
        #figures dd { font-size: 19px; line-height: 1.25; font-weight: 600; letter-spacing: -0.01em; overflow-wrap: anywhere; }
        #figures dd small { display: block; font-size: 12px; font-weight: 400; letter-spacing: 0; color: var(--soft);
          min-height: 18px; }
        #figures svg { display: block; width: 100%; height: 26px; margin-top: 3px; }
        .spark { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
        .under { fill: var(--accent); opacity: 0.12; stroke: none; }
        #runs { margin-top: 12px; } #runs li { padding: 2px 0; }

        form { display: flex; gap: 6px; margin: 0; min-width: 0; }
        #plot-path { width: 210px; min-width: 0; }
        .choice { color: var(--soft); font-size: 13px; }
        #legend { display: flex; flex-wrap: wrap; gap: 4px 18px; min-height: 32px; }
        #legend li { display: flex; align-items: center; gap: 7px; max-width: 100%; }
        #legend svg { width: 30px; height: 10px; flex: none; }
        #legend .path { overflow-wrap: anywhere; } #legend b { font-weight: 650; }
        #legend button { min-height: 24px; padding: 0 7px; border-color: transparent; color: var(--soft); }
        #plot, #rate { display: block; width: 100%; }
        #plot { height: 190px; } #rate { height: 48px; }
        .line { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; }
        .line1 { stroke: var(--ink); stroke-dasharray: 7 4; } .line2 { stroke: var(--soft); stroke-dasharray: 2 3; }
        .line3 { stroke: var(--accent); stroke-dasharray: 12 3 2 3; opacity: 0.75; }
        .grid { stroke: var(--line); stroke-width: 1; } svg text { fill: var(--soft); font-size: 11px; }

        #entries { max-height: 620px; overflow-y: auto; margin: 0 -8px; overscroll-behavior: contain; }
        #entries li { display: grid; grid-template-columns: auto 1fr auto; gap: 0 12px; padding: 5px 8px; border-radius: 6px;
          cursor: pointer; border-top: 1px solid transparent; }
        #entries li + li { border-top-color: var(--line); }
        #entries li[aria-selected="true"] { background: var(--accent-back); box-shadow: inset 3px 0 0 var(--accent); }
        #entries .number { font-weight: 600; } #entries time, #entries .cause { color: var(--soft); font-size: 12px; }
        #entries .text { grid-column: 1 / -1; font: 12px/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono",
          monospace; overflow-wrap: anywhere; }
        #entries .cause { overflow-wrap: anywhere; }
        #entries .gap { display: block; cursor: default; color: var(--soft); font-size: 12px; text-align: center; }
        #older { width: 100%; margin-top: 8px; }

        .travel { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; margin-bottom: 10px; }
        .travel #slider { flex: 1 1 120px; min-width: 80px; } .travel input[type="number"] { width: 118px; }
        [role="tablist"] { display: flex; gap: 2px; border-bottom: 1px solid var(--line); margin-bottom: 12px; }
        [role="tab"] { border: 0; background: none; border-radius: 6px 6px 0 0; padding: 6px 12px; color: var(--soft); }
        [role="tab"][aria-selected="true"] { color: var(--accent); font-weight: 600; box-shadow: inset 0 -2px 0 var(--accent); }
        [role="tabpanel"] { max-height: 520px; overflow: auto; }
        #filter { width: 100%; margin: 2px 0 8px; }
        pre, #tree, .mono { font: 12.5px/1.55 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
        pre { margin: 6px 0; padding: 10px 12px; background: var(--quiet); border-radius: 7px; white-space: pre-wrap;
          overflow-wrap: anywhere; }
        #tree ul { padding-left: 16px; border-left: 1px solid var(--line); margin-left: 4px; }
        #tree > ul { padding-left: 0; border: 0; margin: 0; }
        #tree li { overflow-wrap: anywhere; }
        #tree summary { cursor: pointer; color: var(--soft); } #tree .key { color: var(--soft); }
        #tree .number { color: var(--accent); font-weight: 600; }
        #tree .changed { background: var(--accent-back); text-decoration: underline; text-underline-offset: 3px; }
        #tree button { font: 11px/1 system-ui, sans-serif; min-height: 20px; padding: 1px 7px; margin-left: 8px;
          color: var(--soft); }
        .facts { display: grid; grid-template-columns: auto 1fr; gap: 3px 14px; margin-bottom: 10px; }
        .facts dt { color: var(--soft); } .facts dd { overflow-wrap: anywhere; }
        .before { color: var(--soft); text-decoration: line-through; } .after { font-weight: 600; }
        .problem { color: var(--bad); overflow-wrap: anywhere; }
        h3 { font-size: 12px; font-weight: 600; color: var(--soft); margin: 12px 0 2px; }

        dialog { color: var(--ink); background: var(--card); border: 1px solid var(--line); border-radius: var(--radius);
          padding: 18px 22px; max-width: min(460px, calc(100vw - 32px)); }
        dialog::backdrop { background: rgb(0 0 0 / 0.4); }
        dialog dl { display: grid; grid-template-columns: auto 1fr; gap: 6px 16px; margin: 12px 0 16px; }
        footer { display: flex; flex-wrap: wrap; gap: 4px 16px; justify-content: space-between; padding-top: 14px;
          overflow-wrap: anywhere; }

        @media (max-width: 900px) {
          body { padding: 0 12px 16px; }
          main { grid-template-columns: minmax(0, 1fr); grid-template-areas: "cluster" "figures" "plot" "log" "look"; }
          #link { margin-left: 0; } #entries { max-height: 380px; } #open-help { margin-left: auto; }
          #plot-form { flex: 1 1 100%; order: 3; } #plot-path { flex: 1; }
          #figures { grid-template-columns: repeat(2, minmax(0, 1fr)); }
          .wide, #open-help kbd, #pause kbd, #live kbd { display: none; }
          button, select, input { min-height: 38px; }
          input, select { font-size: 16px; }
        }
        @media (prefers-reduced-motion: no-preference) {
          button, #link { transition: background-color 0.12s, border-color 0.12s, color 0.12s; }
          #entries li.new { animation: arrive 0.9s ease-out; }
          @keyframes arrive { from { background: var(--accent-back); } }
        }
        @media (forced-colors: active) { #link::before { forced-color-adjust: none; } }

        """#
}
