// Receives a document from the page, shows it, and runs its scripts. This script first removes WebRTC from the
// window. Only then does it run code of the document.
import { removeWebRtc, showDocument } from './run-document.js';

removeWebRtc();

addEventListener('message', ({ data, source }) => {
  if (source !== parent || typeof data?.text !== 'string') return;
  // The policy of this frame allows less than that of an app, so the kind of the content is not checked.
  void showDocument(data.text, { isDark: data.isDark });
});
parent.postMessage({ frame: 'ready' }, '*');
