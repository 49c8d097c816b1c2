import { withBase } from '../server/base-path.ts';

/**
 * Installs the service worker, which opens the page without a connection. Browsers allow it only over
 * https and on localhost. Without it, the page works while the server answers.
 */
export function registerWorker(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  const { serviceWorker } = navigator;
  // The page needs no worker to start, so the worker is installed after the page has loaded.
  const register = async () => {
    await serviceWorker.register(withBase('/worker.js'), { scope: withBase('/') });
    const { active } = await serviceWorker.ready;
    const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
    active?.postMessage({ loaded: loaded.filter((url) => url.includes('/assets/')) });
  };
  const start = () => void register().catch(() => {});
  if (document.readyState === 'complete') start();
  else addEventListener('load', start, { once: true });
}
