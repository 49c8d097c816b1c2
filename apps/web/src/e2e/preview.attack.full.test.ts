import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

/** Returns a socket that counts the packets that it receives. */
async function listener(): Promise<{ readonly port: number; count(): number }> {
  const socket: Socket = createSocket('udp4');
  let packets = 0;
  socket.on('message', () => packets++);
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return { port: socket.address().port, count: () => packets };
}

/**
 * Code that connects with WebRTC, which no content security policy stops. If it runs in a frame of
 * the document, it also reports this to the document.
 */
const connect = (port: number) =>
  `parent.postMessage("ran", "*"); const peer = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:${port}" }] }); peer.createDataChannel("x"); peer.createOffer().then((offer) => peer.setLocalDescription(offer));`;

const quoted = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

/** Places in a document from which it can try to run code, by name. */
const places: Readonly<Record<string, (code: string) => string>> = {
  script: (code) => `<script>${code}</script>`,
  module: (code) => `<script type="module">${code}</script>`,
  handler: (code) => `<body onload="${quoted(code)}">`,
  'document in a frame': (code) =>
    `<iframe srcdoc="${quoted(`<script>${code}</script>loaded`)}"></iframe>`,
  'handler in a frame': (code) =>
    `<iframe srcdoc="${quoted(`<img src=x onerror="${quoted(code)}">loaded`)}"></iframe>`,
  'script with an address in a frame': (code) =>
    `<iframe srcdoc="${quoted(`<script src="data:text/javascript,${encodeURIComponent(code)}"></script>loaded`)}"></iframe>`,
  'address of a frame': (code) =>
    `<iframe src="javascript:${quoted(encodeURIComponent(code))}"></iframe>`,
  'window of a frame': (code) =>
    `<iframe></iframe><script>self.RTCPeerConnection = frames[0].RTCPeerConnection; ${code}</script>`,
  'frame that is added later': (code) =>
    `<script>const inner = document.createElement("iframe"); inner.srcdoc = "<script>" + ${JSON.stringify(code)} + "<\\/script>loaded"; document.body.append(inner);</script>`,
};

describeInChromium()('a hostile document in a preview', () => {
  const harness = useBrowserHarness();

  /** Opens the preview of a document that the model wrote. */
  async function preview(html: string) {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    await tab.send(['say', '```html', html, '```'].join('\n'));
    await tab.answer.getByRole('button', { name: 'Preview', exact: true }).click();
    return { tab, frame: tab.page.frameLocator('iframe.preview-frame') };
  }

  test.each(Object.entries(places))(
    '18.110: a document cannot connect by WebRTC: %s',
    async (_, place) => {
      const { port, count } = await listener();
      const html = place(connect(port));
      const { frame } = await preview(
        [
          '<script>addEventListener("message", ({ data }) => { if (data === "ran") document.body.append("escaped"); });</script>',
          html,
          '<script>addEventListener("load", () => document.body.append("WebRTC: " + typeof RTCPeerConnection));</script>',
        ].join('\n'),
      );
      await frame.getByText('WebRTC: undefined').waitFor();
      if (html.includes('loaded')) await frame.frameLocator('iframe').getByText('loaded').waitFor();
      expect(await frame.locator('body').innerText()).not.toContain('escaped');
      expect(count()).toBe(0);
    },
  );

  test('18.110: scripts, modules, handlers and waiting code of a document still run', async () => {
    const { frame, tab } = await preview(
      [
        '<!doctype html><html><body><button onclick="count(event.type)">Add</button><p id="out"></p>',
        '<script>const start = "a"; function count(text) { out.append(text); }</script>',
        '<script>count(start); document.addEventListener("DOMContentLoaded", () => count("b"));</script>',
        '<script type="module">count("c");</script>',
        '<script>onload = () => { out.insertAdjacentHTML("afterend", "<b onclick=\\"count(this.id)\\" id=later>Later</b>"); };</script>',
      ].join('\n'),
    );
    await frame.getByText('Later').waitFor();
    const written = () => frame.locator('#out').innerText();
    await expect.poll(written).toBe('acb');
    await tab.page.getByRole('button', { name: 'Press to use the preview' }).click();
    await frame.getByRole('button', { name: 'Add' }).click();
    await frame.getByText('Later').click();
    await expect.poll(written).toBe('acbclicklater');
  });

  // No content security policy stops preconnect, and this browser does not do it, so the elements are counted.
  test('18.176: attack: the links of a document open connections', async () => {
    const { frame } = await preview(
      [
        '<link rel="preconnect" href="https://a.example"><link rel="stylesheet PRECONNECT" href="https://b.example">',
        '<template><link rel="dns-prefetch" href="https://c.example"></template><p>shown</p>',
        '<link rel="stylesheet" href="data:text/css,p{color:rgb(1,2,3)}">',
      ].join('\n'),
    );
    await frame.getByText('shown').waitFor();
    expect(await frame.locator('link:not([rel="stylesheet"])').count()).toBe(0);
    const inside = 'document.querySelector("template").content.childElementCount';
    expect(await frame.locator('body').evaluate(inside)).toBe(0);
  });

  test('18.111: a document that takes the keyboard does not read what the user types for the page', async () => {
    const { tab } = await preview(
      '<input id="field"><p id="keys"></p><script>addEventListener("keydown", ({ key }) => keys.append(key)); setInterval(() => { focus(); field.focus(); }, 20);</script>',
    );
    // The page closes a preview that takes the keyboard several times.
    await tab.answer.getByRole('button', { name: 'Preview', exact: true }).waitFor();
    await tab.message.click();
    await tab.page.keyboard.type('secret');
    expect(await tab.message.inputValue()).toBe('secret');
  });

  test('18.111: a document that takes the keyboard once returns it', async () => {
    const { frame, tab } = await preview(
      '<p id="keys">none</p><input id="field"><script>addEventListener("keydown", ({ key }) => keys.append(key)); onmessage = () => { field.focus(); document.body.append("took"); }; document.body.append("listens ");</script>',
    );
    await frame.getByText('listens').waitFor();
    await tab.message.click();
    await tab.page.evaluate(
      'document.querySelector("iframe.preview-frame").contentWindow.postMessage(1, "*")',
    );
    await frame.getByText('took').waitFor();
    const focused = () => tab.page.evaluate<string>('document.activeElement.tagName');
    await expect.poll(focused).toBe('TEXTAREA');
    await tab.page.keyboard.type('secret');
    expect(await tab.message.inputValue()).toBe('secret');
    expect(await frame.locator('#keys').innerText()).toBe('none');
  });
});
