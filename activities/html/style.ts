import { trusted } from './markup';

const LIGHT = `
--paper:#fcfcfa;--ink:#1c2227;--muted:#59646d;--line:#dde2e6;--panel:#f2f4f5;--region:#e9f1f7;--link:#005a94;
--s1:#0072b2;--s2:#c24e00;--s3:#00805c;--s4:#9c3f7f;--s5:#8a6d00;--s6:#3d5a99;--s7:#7a4b2a;--s8:#4d5358;--sx:#7b868f;
--good:#0072b2;--bad:#c24e00;--heat:0,114,178;--on-dark:#fff;`;

const DARK = `
--paper:#13171a;--ink:#e7eaec;--muted:#9eaab3;--line:#333c43;--panel:#1c2226;--region:#1b2a35;--link:#7cc3f0;
--s1:#56b4e9;--s2:#f28e4b;--s3:#2fc79a;--s4:#e08fc2;--s5:#e8d44d;--s6:#a3b8f0;--s7:#cf9d78;--s8:#c3cad0;--sx:#8b97a0;
--good:#56b4e9;--bad:#f28e4b;--heat:86,180,233;--on-dark:#0b1013;`;

/**
 * The style sheet of all pages and charts. Colours come from the palette of Okabe and Ito (2008), darkened or lightened
 * until they contrast with the paper in both themes. No meaning depends on colour alone: shapes, dashes, fills and
 * words carry it, too. Printing uses the light colours. A backslash continues a rule on the next line.
 */
export const STYLE = trusted(`
:root{color-scheme:light dark;${LIGHT}}
@media screen and (prefers-color-scheme:dark){:root{${DARK}}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:17px/1.55 -apple-system,"Segoe UI",Roboto,\
"Helvetica Neue","Noto Sans","Liberation Sans",Arial,sans-serif;overflow-wrap:break-word}
main,header.top,footer{max-width:900px;margin:0 auto;padding:0 20px}
header.top{padding-top:44px}
h1{font-size:2rem;line-height:1.22;letter-spacing:-.012em;margin:.15em 0 .4em;text-wrap:balance}
h2{font-size:1.42rem;line-height:1.3;margin:3rem 0 .7rem;padding-top:1.1rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;line-height:1.35;margin:0 0 .25rem}
h4{font-size:.95rem;line-height:1.35;margin:0}
p{margin:.5em 0 .9em}
a{color:var(--link);text-underline-offset:2px}
code{font:.86em/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
.eyebrow{color:var(--muted);font-size:.92rem;margin:0}
.lead{font-size:1.14rem;max-width:44em}
.muted{color:var(--muted)}
.verdict{display:inline-block;border:2px solid currentColor;border-radius:999px;padding:.1em .8em;font-weight:650;\
font-size:.95rem;margin-right:.5em}
.verdict.good{color:var(--s3)}.verdict.bad{color:var(--bad)}
.alarm{border:3px solid var(--bad);border-radius:8px;padding:.8rem 1.1rem;margin:1.2rem 0;font-weight:600}
.alarm strong{color:var(--bad);text-transform:uppercase;letter-spacing:.03em}
.notes{background:var(--panel);border-radius:8px;padding:1rem 1.2rem;margin:1.6rem 0}
.notes h2{border:0;margin:0 0 .4rem;padding:0;font-size:1.05rem}
.notes ul{margin:0;padding-left:1.1em}.notes li{margin:.35em 0;font-size:.95rem}
.reasons{margin:.2rem 0 1.4rem;padding-left:1.1em}
.passage ol{list-style:none;margin:0;padding:.2rem 0 .2rem .9rem;border-left:3px solid var(--line);overflow-wrap:anywhere}
.passage li{margin:.3em 0;font-size:.95rem}.passage mark{background:var(--region);color:inherit;font-weight:600;\
padding:.1em .3em}
dl.facts{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.2rem;margin:1.2rem 0;font-size:.95rem}
dl.facts dt{color:var(--muted)}dl.facts dd{margin:0}
.scroll{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;width:100%;font-size:.93rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:.42rem .9rem .42rem 0;border-bottom:1px solid var(--line)}
thead th{color:var(--muted);font-weight:600;font-size:.86rem;vertical-align:bottom}
tbody th{font-weight:500}
.number{text-align:right;white-space:nowrap}
th:last-child,td:last-child{padding-right:0}
.ci{color:var(--muted);white-space:nowrap;font-size:.92em}
.big{font-weight:680}
tr.routed th,tr.routed td{background:var(--region)}
tr.routed th:first-child{box-shadow:-8px 0 0 var(--region)}
.tags{list-style:none;padding:0;margin:.8rem 0;display:grid;gap:.45rem}
.tags li{padding-left:1.7em;position:relative}
.tags .sign{position:absolute;left:0;font-weight:700}
.yes{color:var(--s3)}.no{color:var(--bad)}
figure{margin:2rem 0 2.6rem}
figcaption p{color:var(--muted);font-size:.95rem;margin:.1rem 0 .8rem;max-width:46em}
.source{font-size:.84rem;color:var(--muted);margin:.5rem 0 0}
.ref{display:inline-block;margin-right:.8em}
.refs{display:inline}.refs[open]{display:block}
.hash{color:var(--muted)}
details{font-size:.93rem;margin:.5rem 0}
summary{cursor:pointer;color:var(--link);width:fit-content}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,310px),1fr));grid-auto-flow:dense;\
gap:1.4rem 1.6rem;}
.panels.together{grid-column:1/-1}
.panel{border:1px solid var(--line);border-radius:8px;padding:.8rem .9rem .6rem;min-width:0}
.panel p{font-size:.9rem;margin:.2rem 0 .6rem}.panel ul{font-size:.86rem;color:var(--muted);padding-left:1.1em;\
margin:.4rem 0}
.panel.rejected{border-style:dashed;border-color:var(--bad)}
.stamp{font-weight:650}
.legend{list-style:none;padding:0;margin:.2rem 0 .4rem;display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;font-size:.9rem}
.legend svg{display:inline-block;width:34px;vertical-align:middle}
footer{margin-top:4rem;padding-top:1rem;padding-bottom:3rem;color:var(--muted);font-size:.88rem;\
border-top:1px solid var(--line)}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font:13px -apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","Liberation Sans",Arial,sans-serif;\
fill:var(--ink)}
svg text.muted{fill:var(--muted)}svg text.accent{fill:var(--bad)}svg text.strong{font-weight:620}\
svg text.on-dark{fill:var(--on-dark);font-weight:620}
svg text.halo{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}
.only-wide svg{max-width:860px}.only-narrow svg{max-width:560px}.panel svg{max-width:420px}
.only-narrow{display:none}
.grid{stroke:var(--line)}
.threshold{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:6 4}
.region{fill:var(--region)}
.s1{--c:var(--s1)}.s2{--c:var(--s2)}.s3{--c:var(--s3)}.s4{--c:var(--s4)}.s5{--c:var(--s5)}.s6{--c:var(--s6)}\
.s7{--c:var(--s7)}.s8{--c:var(--s8)}.sx{--c:var(--sx)}
.error{stroke:var(--c);stroke-width:1.5;opacity:.6}
.mark{fill:var(--c);stroke:var(--paper);stroke-width:1.5}.mark.open{fill:var(--paper);stroke:var(--c);stroke-width:2}
.bar.good{fill:var(--good)}.bar.bad{fill:var(--paper);stroke:var(--bad);stroke-width:1.5}
.bar.prompt{fill:var(--s1)}.bar.completion{fill:var(--s2)}.bar.time{fill:var(--s8)}
.mean{stroke:var(--ink);stroke-width:2}.mean-halo{stroke:var(--paper);stroke-width:6}
.curve{fill:none;stroke:var(--c);stroke-width:2.5;stroke-linejoin:round;stroke-linecap:round}
.raw{fill:var(--c);opacity:.3}
.d1{stroke-dasharray:9 5}.d2{stroke-dasharray:2 5}.d3{stroke-dasharray:12 4 2 4}
circle.d1,circle.d2,circle.d3{stroke-dasharray:none}
.whisker{stroke:var(--s8);stroke-width:2}.base .whisker{stroke:var(--s8)}.routed .whisker{stroke:var(--s1)}
.dot{fill:var(--s8)}.routed .dot,.dot.filled{fill:var(--s1)}.base .dot,.dot.hollow{fill:var(--paper);\
stroke:var(--s8);stroke-width:2}
.joint{stroke:var(--s1);stroke-width:2.5;opacity:.45}
.cell{fill:rgba(var(--heat),calc(.05 + .95*var(--share)));stroke:var(--line)}
.cell.right{stroke:var(--ink);stroke-width:2.5}
@media (max-width:719px){
body{font-size:16px}h1{font-size:1.55rem}header.top{padding-top:26px}
.only-wide{display:none}.only-narrow{display:block}
dl.facts{grid-template-columns:1fr;gap:0}dl.facts dd{margin-bottom:.5rem}
table.key .ci{display:block}
th,td{padding-right:.7rem}
}
@media print{
body{font-size:10.5pt}main,header.top,footer{max-width:none}
figure,.panel,tr{break-inside:avoid}h2,h3{break-after:avoid}
a{color:inherit}summary{display:none}
}
`);
