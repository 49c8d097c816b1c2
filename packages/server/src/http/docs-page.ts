import type { Route } from './route.ts';

/** Nothing runs, and nothing comes from elsewhere. */
export const docsPolicy =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The table of routes, for people. What each takes and gives in detail is in the document. */
export function docsPage(routes: readonly Route[]): string {
  const rows = routes.map(
    ({ method, path, summary, body, query }) =>
      `<tr><td><code>${method}</code></td><td><code>${escaped(path)}</code>${fieldsOf(query?.shape)}</td>` +
      `<td>${escaped(summary)}${body === undefined ? '' : ' <small>(with a JSON body)</small>'}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace: reference</title>
<link rel="stylesheet" href="/docs.css">
</head>
<body>
<h1>Millrace</h1>
<p>Agents as a service. The whole contract, with every field, is <a href="/openapi.json">openapi.json</a>.</p>
<table>
<thead><tr><th>method</th><th>path</th><th>what it does</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</body>
</html>
`;
}

export const docsStyle = `body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color-scheme: light dark; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.8rem 0.4rem 0; border-bottom: 1px solid #8884; }
code, small { font-size: 0.875rem; }
td small { display: block; opacity: 0.75; }
`;

function fieldsOf(shape: Readonly<Record<string, unknown>> | undefined): string {
  const names = Object.keys(shape ?? {});
  return names.length === 0 ? '' : `<small>?${escaped(names.join(', '))}</small>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
