import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { builtPage } from '../../../apps/web/src/e2e/testing/built-page.ts';
import { processFolder } from '../../../scripts/process-folder.ts';

export interface BuiltPages {
  readonly ours: string;
  readonly useChat: string;
}

/** Both as they would be shipped. */
export async function buildPages(): Promise<BuiltPages> {
  const useChat = processFolder('use-chat-page');
  await build({
    root: fileURLToPath(new URL('../peers/use-chat-page', import.meta.url)),
    mode: 'production',
    logLevel: 'error',
    // The hook has an `ai` of its own beside it; two of them would count twice.
    resolve: { dedupe: ['ai', 'react', 'react-dom'] },
    build: { outDir: useChat, emptyOutDir: true, modulePreload: { polyfill: false } },
  });
  return { ours: builtPage(), useChat };
}
