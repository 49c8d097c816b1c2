// Receives the document of an MCP app from the page, once, and runs its scripts. After that, the app sends its
// messages to the page itself. The page checks each of them.
import { removeWebRtc, showDocument } from './run-document.js';

removeWebRtc();

addEventListener('message', function start({ data, source }) {
  if (source !== parent) return;
  // A document in a preview can open this frame in its place. The page has not asked the user about the
  // addresses of that document, so this frame shows only apps.
  if (data?.kind !== 'app' || typeof data.text !== 'string') return;
  removeEventListener('message', start);
  document.documentElement.style.colorScheme = data.isDark ? 'dark' : 'light';
  void showDocument(data.text, { isDark: data.isDark, loadsScripts: true });
});
parent.postMessage({ frame: 'ready' }, '*');
