// Receives the text of a diagram from the page, and draws it to fit into the frame.
const mermaid = globalThis.mermaid;

addEventListener('message', async ({ data, source }) => {
  if (source !== parent || typeof data?.text !== 'string') return;
  const theme = data.isDark ? 'dark' : 'neutral';
  // Without this color scheme, the browser gives the frame a white background on a dark page.
  document.documentElement.style.colorScheme = data.isDark ? 'dark' : 'light';
  mermaid.initialize({ startOnLoad: false, securityLevel: 'strict', theme, maxTextSize: 50_000 });
  try {
    const { svg } = await mermaid.render('diagram', data.text);
    const parsed = new DOMParser().parseFromString(svg, 'text/html').body.firstElementChild;
    document.body.replaceChildren(...(parsed === null ? [] : [parsed]));
  } catch {
    parent.postMessage({ frame: 'failed' }, '*');
  }
});
parent.postMessage({ frame: 'ready' }, '*');
