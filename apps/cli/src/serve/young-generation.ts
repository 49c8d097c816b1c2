import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** The default size at which the young generation stops growing, in bytes. */
const defaultMaxBytes = 16 * 2 ** 20;

/**
 * Stops the growth of V8's young generation at about `maxBytes`. V8 doubles it while a program allocates
 * much. With Node 24 it reaches 128 MB, most of which is empty after each collection. A server that streams
 * a long session would therefore need 100 MB more than its data.
 *
 * V8 reads `--max-semi-space-size` only when a process starts. It reads the growth factor at each growth, so
 * a factor of 1 takes effect at any time. Returns a function that allows the growth again.
 */
export function limitYoungGeneration(maxBytes: number = defaultMaxBytes): () => void {
  const observer = new PerformanceObserver(() => {
    if (youngGenerationBytes() < maxBytes) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => {
    observer.disconnect();
    setFlagsFromString('--semi-space-growth-factor=2');
  };
}

/** Returns the size of the young generation in bytes, with its free space. */
export function youngGenerationBytes(): number {
  const isNew = ({ space_name }: { readonly space_name: string }) => space_name === 'new_space';
  return getHeapSpaceStatistics().find(isNew)?.space_size ?? 0;
}
