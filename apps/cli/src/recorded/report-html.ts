import type { ChangeGroup, RecordingResult, TestReport } from '@millrace/agent/testing';
import { xml } from './report-files.ts';
import { exampleDiff, summaryText } from './report-text.ts';

/** Returns a report as one HTML document. It loads nothing and runs no script. */
export function htmlReport(report: TestReport): string {
  const { groups, results } = report;
  const changes = groups.map(groupHtml).join('\n') || '<p>Nothing changed.</p>';
  return htmlPage(
    'Recorded sessions',
    `<p>${xml(summaryText(report))}</p>
<h2>What changed</h2>
${changes}
<h2>Recordings</h2>
<div class="table"><table>
<thead><tr><th scope="col">recording</th><th scope="col">result</th><th scope="col">requests</th><th scope="col">first difference</th></tr></thead>
<tbody>
${results.map(rowHtml).join('\n')}
</tbody>
</table></div>`,
  );
}

/** Returns an HTML document. `content` is HTML. The document loads nothing and runs no script. */
export function htmlPage(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${xml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${xml(title)}</h1>
${content}
</main>
</body>
</html>
`;
}

function groupHtml(group: ChangeGroup): string {
  const { cause, message, recordings, count, example } = group;
  const diff = exampleDiff(group);
  const places = `${count} requests in ${recordings.length} recordings, first in turn ${example.turn} of ${example.recording}`;
  const names = recordings.map((name) => `<li>${xml(name)}</li>`).join('');
  return `<section>
<h3><span class="cause">${xml(cause)}</span> ${xml(message)}</h3>
<p>${xml(places)}</p>
${diff === '' ? '' : `<pre>${diff.split('\n').map(diffLine).join('\n')}</pre>`}
<details><summary>Recordings</summary><ul>${names}</ul></details>
</section>`;
}

function diffLine(line: string): string {
  const kind = line.startsWith('+') ? 'ins' : line.startsWith('-') ? 'del' : undefined;
  return kind === undefined ? xml(line) : `<${kind}>${xml(line)}</${kind}>`;
}

function rowHtml({ name, status, comparedRequests, changes, error }: RecordingResult): string {
  const [first] = changes;
  const what = error ?? (first ? `turn ${first.turn}, ${first.cause}: ${first.message}` : '');
  return `<tr><td>${xml(name)}</td><td class="${status}">${status}</td><td>${comparedRequests}</td><td>${xml(what)}</td></tr>`;
}

const style = `
:root { color-scheme: light dark; --line: #8884; --add: #1a7f37; --del: #b42318; --ok: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --add: #56d364; --del: #ff7b72; --ok: #56d364; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
section { border: 1px solid var(--line); border-radius: 8px; padding: 0 1rem 1rem; margin: 1rem 0; }
h3 { overflow-wrap: anywhere; }
.cause { border: 1px solid var(--line); border-radius: 99px; padding: 0 .6rem; font-size: .85rem; }
pre { overflow: auto; max-height: 24rem; padding: .5rem; border: 1px solid var(--line); border-radius: 6px; font-size: .85rem; }
ins, del { text-decoration: none; }
ins, .same { color: var(--add); }
del, .changed, .failed { color: var(--del); }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; border-bottom: 1px solid var(--line); padding: .3rem .6rem; vertical-align: top; }
td { overflow-wrap: anywhere; }
`;
