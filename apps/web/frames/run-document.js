// Shows a document inside a frame, and runs its scripts. The content security policy of the frame allows the
// script of the frame and the scripts that it starts, and no other scripts. A frame inside the document has a
// new window with WebRTC, but no script of the document can run there.

/** Removes WebRTC from the window. It opens connections that no content security policy stops. */
export function removeWebRtc() {
  for (const name of Object.getOwnPropertyNames(globalThis))
    if (/rtc/i.test(name)) delete globalThis[name];
}

/**
 * Replaces the document of the frame. With `loadsScripts`, it also starts scripts that have an address. The
 * policy of the frame decides which addresses can be loaded.
 */
export async function showDocument(text, { isDark, loadsScripts = false }) {
  const parsed = new DOMParser().parseFromString(text, 'text/html');
  removeLinks(parsed);
  if (isDrawing(parsed)) putOnPaper(parsed, isDark);
  document.replaceChild(document.adoptNode(parsed.documentElement), document.documentElement);
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) startHandlers(node);
  }).observe(document, { childList: true, subtree: true });
  startHandlers(document.documentElement);
  await Promise.all([...document.scripts].map((script) => startScript(script, loadsScripts)));
  // The document is complete now. Its scripts may listen for these events.
  document.dispatchEvent(new Event('DOMContentLoaded', { bubbles: true }));
  dispatchEvent(new Event('load'));
}

function isDrawing({ body }) {
  return body.childElementCount === 1 && body.firstElementChild.localName === 'svg';
}

/**
 * Gives a drawing a white background, because many drawings have dark lines and no background. The rest of
 * the frame has the background of the page.
 */
function putOnPaper({ body, documentElement }, isDark) {
  documentElement.style.colorScheme = isDark ? 'dark' : 'light';
  body.firstElementChild.style.background ||= 'white';
}

/**
 * Removes the links of a document that can open a connection, such as `preconnect`. No content security
 * policy stops them. A script can still add such a link later.
 */
function removeLinks(root) {
  for (const link of root.querySelectorAll('link'))
    if (link.getAttribute('rel')?.trim().toLowerCase() !== 'stylesheet') link.remove();
  for (const { content } of root.querySelectorAll('template')) removeLinks(content);
}

/** Starts a script of the document. Resolves when the script has ended or cannot run. */
function startScript(old, loadsScripts) {
  const isCode = /^(?:module|(?:text|application)\/javascript)?$/i.test(old.type);
  if (!isCode || (old.src !== '' && !loadsScripts)) return undefined;
  const script = old.src === '' ? scriptOf(old.textContent) : loadedScript(old);
  if (old.type === 'module') script.type = 'module';
  old.replaceWith(script);
  return new Promise((resolve) => {
    script.onload = resolve;
    script.onerror = resolve;
  });
}

/** Enables the event attributes, such as `onclick`, of an element and of all elements inside it. */
function startHandlers(node) {
  if (!(node instanceof Element)) return;
  for (const element of [node, ...node.querySelectorAll('*')])
    for (const { name, value } of [...element.attributes]) {
      if (!/^on[a-z]+$/.test(name)) continue;
      element.removeAttribute(name);
      const script = scriptOf(
        `document.currentScript.place.${name} = function (event) {\n${value}\n}`,
      );
      script.place = element;
      script.onload = () => script.remove();
      document.head.append(script);
    }
}

/** Returns a copy of a script with an address. */
function loadedScript({ src, crossOrigin, integrity }) {
  const script = document.createElement('script');
  script.async = false;
  script.src = src;
  if (crossOrigin !== null) script.crossOrigin = crossOrigin;
  script.integrity = integrity;
  return script;
}

/** Returns a script element. Added script elements run in the order in which they are added. */
function scriptOf(code) {
  const script = document.createElement('script');
  script.async = false;
  script.src = `data:text/javascript;charset=utf-8,${encodeURIComponent(code.toWellFormed())}`;
  return script;
}
