import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TmuxRun } from './chat-picture/real-run.ts';
import { screenToSvg } from './chat-picture/screen-to-svg.ts';

/** Makes the picture of the chat from a real run of the demo in a real terminal: npm run picture. */
const main = fileURLToPath(new URL('../apps/cli/bundle/main.js', import.meta.url));
const picture = new URL('../docs/chat.svg', import.meta.url);
const size = { columns: 90, rows: 44 };

const files = {
  'README.md':
    '# Weir\n\nKeeps the level of a pond: opens and closes a gate by what a gauge says.\n',
  'src/gate.ts': '// TODO: the gate may be frozen\nexport function open(): void {}\n',
  'src/level.ts': 'export const wantedCm = 140; // TODO: from the settings\n',
  'millrace-demo.md': '# Millrace was here\n\nVisit 1.\n\nYou can delete it whenever you like.\n',
};

const run = new TmuxRun({ argv: [main], ...size, files, folder: 'weir' });
try {
  await run.see('Say what to do');
  run.type('Look around, and count this visit', 'Enter');
  const lines = await run.see('Yes, once');
  mkdirSync(new URL('.', picture), { recursive: true });
  writeFileSync(picture, screenToSvg(lines, { columns: size.columns, title: 'millrace' }));
} finally {
  run.close();
}
