import { useEffect, useRef, useState } from 'react';

/**
 * The cost of the texts that can appear in one frame. It is the cost that one text alone can have. See
 * `maxCost` of the block limit.
 */
const frameCost = 4000;
/** The cost of the waiting texts that appear in one turn. One text can exceed it. */
const turnCost = 1000;

/** A text that waits for its turn. */
interface WaitingText {
  readonly cost: number;
  readonly element: Element;
  readonly start: () => void;
}

const waiting = new Set<WaitingText>();
/** The cost of the texts that appeared since the last frame. */
let spent = 0;
let isScheduled = false;

/**
 * Gives a text its turn to appear with its format. Texts of the page share their turns: those that appear
 * together are formatted at once until they cost as much as one long text. The others wait, and then appear one
 * after the other, those near the visible part first. The browser shows a frame and handles input in between.
 *
 * Returns whether the text has its turn, and the reference for the element that is shown until then.
 */
export function useTurn(text: string) {
  const [hasTurn, setTurn] = useState(() => takeTurn(costOf(text)));
  const placeholder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = placeholder.current;
    if (hasTurn || element === null) return;
    const own = { cost: costOf(text), element, start: () => setTurn(true) };
    waiting.add(own);
    schedule();
    return () => void waiting.delete(own);
  }, [hasTurn, text]);
  return [hasTurn, placeholder] as const;
}

/** Estimates the cost of a text, without reading it as Markdown. */
function costOf(text: string): number {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  return text.length / 200 + 1.5 * count(/\n/g) + 0.5 * count(/[*_`$[<~|]/g);
}

function takeTurn(cost: number): boolean {
  // Without a screen, nobody waits for the page.
  if (typeof requestAnimationFrame === 'undefined') return true;
  if (spent > 0 && spent + cost > frameCost) return false;
  spent += cost;
  schedule();
  return true;
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  // A task after the frame, so that the browser has painted and can handle input first.
  requestAnimationFrame(() => setTimeout(nextTurn));
}

function nextTurn(): void {
  isScheduled = false;
  spent = 0;
  const texts = [...waiting].map((one) => ({ one, distance: distanceOf(one.element) }));
  for (const { one } of texts.sort((a, b) => a.distance - b.distance)) {
    if (spent > 0 && spent + one.cost > turnCost) break;
    waiting.delete(one);
    spent += one.cost;
    one.start();
  }
  if (spent > 0) schedule();
}

/** Returns how far an element is from the visible part of the page. */
function distanceOf(element: Element): number {
  const { top, bottom } = element.getBoundingClientRect();
  return Math.max(top - innerHeight, -bottom, 0);
}
