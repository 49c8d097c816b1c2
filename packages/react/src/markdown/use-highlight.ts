import { type RefObject, useEffect, useState } from 'react';
import type { CodePiece } from './highlight.ts';

/** Maximum length of highlighted code. Longer code would block the page. */
const maxLength = 100_000;

/**
 * Returns highlighted code. Returns undefined for plain text, and until the element `place` is near the
 * visible part of the page and the highlighter is loaded.
 */
export function useHighlight(
  text: string,
  lang: string | undefined,
  place: RefObject<Element | null>,
): readonly CodePiece[] | undefined {
  const [found, setFound] = useState<{ text: string; pieces: readonly CodePiece[] | undefined }>();
  const language = lang?.trim().split(/\s/, 1)[0] ?? '';
  const isWorth = language !== '' && text.length <= maxLength;
  useEffect(() => {
    if (!isWorth || place.current === null) return;
    return highlightNear(place.current, text, language, (pieces) => setFound({ text, pieces }));
  }, [text, language, isWorth, place]);
  return found?.text === text ? found.pieces : undefined;
}

interface Job {
  readonly text: string;
  readonly language: string;
  readonly show: (pieces: readonly CodePiece[] | undefined) => void;
  isOver: boolean;
}

/** The jobs whose elements are not near the visible part of the page. */
const distant = new Map<Element, Job>();
/** The jobs that wait for the highlighter. */
const near = new Set<Job>();

/** Distance from the visible part of the page at which code is highlighted. */
const margin = '800px';
const nearOptions: IntersectionObserverInit & { readonly scrollMargin: string } = {
  rootMargin: margin,
  // Some browsers do not have this option. They highlight code when it becomes visible.
  scrollMargin: margin,
};
let observer: IntersectionObserver | undefined;

/**
 * Highlights code when its element comes near the visible part of the page. Otherwise a text with thousands
 * of code blocks would block the page. The returned function cancels the work.
 */
function highlightNear(
  element: Element,
  text: string,
  language: string,
  show: Job['show'],
): () => void {
  const job: Job = { text, language, show, isOver: false };
  if (typeof IntersectionObserver === 'undefined') {
    near.add(job);
    void highlightWaiting();
  } else {
    distant.set(element, job);
    observer ??= new IntersectionObserver(onMoved, nearOptions);
    observer.observe(element);
  }
  return () => {
    job.isOver = true;
    near.delete(job);
    distant.delete(element);
    observer?.unobserve(element);
  };
}

function onMoved(entries: readonly IntersectionObserverEntry[]): void {
  for (const { target, isIntersecting } of entries) {
    const job = distant.get(target);
    if (!isIntersecting || job === undefined) continue;
    observer?.unobserve(target);
    distant.delete(target);
    near.add(job);
  }
  void highlightWaiting();
}

/** Maximum length of code that is highlighted before the page reacts to the user again. */
const maxPerTurn = 4000;
/** A short piece of code needs as much time as this number of characters. */
const minLength = 100;
let isWorking = false;

/** Highlights all code that waits. React shows the results of a turn with one update. */
async function highlightWaiting(): Promise<void> {
  if (isWorking || near.size === 0) return;
  isWorking = true;
  try {
    const { highlight } = await import('./highlight.ts');
    while (near.size > 0) {
      const jobs = takeJobs();
      const results = await Promise.all(
        jobs.map((job) =>
          highlight(job.text, job.language, () => job.isOver).catch(() => undefined),
        ),
      );
      for (const [index, job] of jobs.entries()) if (!job.isOver) job.show(results[index]);
      await new Promise((resolve) => setTimeout(resolve));
    }
  } catch {
    // If the highlighter cannot load, the code is shown without colors.
    near.clear();
  } finally {
    isWorking = false;
  }
}

/** Removes the jobs of one turn from the queue and returns them. */
function takeJobs(): readonly Job[] {
  const jobs: Job[] = [];
  let length = 0;
  for (const job of near) {
    if (length >= maxPerTurn) break;
    length += Math.max(minLength, job.text.length);
    near.delete(job);
    jobs.push(job);
  }
  return jobs;
}
