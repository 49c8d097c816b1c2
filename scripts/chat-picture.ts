import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { screenToSvg } from './chat-picture/screen-to-svg.ts';
import { TmuxRun } from './chat-picture/tmux-run.ts';

/** Creates docs/chat.svg from a run of the demo in a real terminal: npm run picture. */
const main = fileURLToPath(new URL('../apps/cli/bundle/main.js', import.meta.url));
const picture = new URL('../docs/chat.svg', import.meta.url);
const size = { columns: 90, rows: 44 };

const files = {
  'README.md': '# Forecast\n\nPrints the weather of the next days for a list of towns.\n',
  'src/report.ts': '// TODO: handle a missing forecast\nexport function report(): void {}\n',
  'src/towns.ts': "export const towns = ['Bath']; // TODO: read from the settings\n",
  'millrace-demo.md': '# Millrace was here\n\nVisit 1.\n\nYou can delete it whenever you like.\n',
};

const run = new TmuxRun({ argv: [main], ...size, files, folder: 'forecast' });
try {
  await run.waitFor('Say what to do');
  run.type('Look around, and count this visit', 'Enter');
  const lines = await run.waitFor('Yes, once');
  mkdirSync(new URL('.', picture), { recursive: true });
  writeFileSync(picture, screenToSvg(lines, { columns: size.columns, title: 'millrace' }));
} finally {
  run.close();
}
