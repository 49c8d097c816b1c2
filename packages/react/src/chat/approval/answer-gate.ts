import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { isUncovered } from './topmost.ts';

/**
 * The time for which a button must rest at its place before it works. The time is long enough to notice the
 * question, and longer than a double click.
 */
const pauseMs = 600;

/** Time between two checks whether the button has moved, in milliseconds. */
const checkEveryMs = 100;

/** Maximum distance in pixels that counts as no movement. */
const tolerance = 2;

/** The part of the button that must be visible. */
const visibleShare = 0.9;

/**
 * Events that restart the waiting time of a new question. Input during that time was not meant for the
 * question.
 */
const inputEvents = ['keydown', 'keyup', 'pointerup', 'pointercancel', 'visibilitychange'] as const;

/** Lets answers pass that the user gives to the question on the screen. */
export interface AnswerGate {
  /** True if the user may answer. */
  readonly isOpen: boolean;
  /**
   * Runs `answer` if the user may answer at this moment. Returns false if it did not run, for example because
   * the button has just moved under the pointer.
   */
  readonly pass: (answer: () => void) => boolean;
}

/** A question, and the position of its button when the gate opened. */
interface Opened {
  readonly question: string;
  readonly at: DOMRect;
}

/**
 * Opens when the user may answer a question with a button. The button must have been visible at the same place,
 * without anything above it, for a moment without any input. So the second click of a double click, or a held
 * key, cannot answer a new question by accident, and nothing can move the button under the pointer. If `question`
 * changes, the user must see the new one.
 *
 * The waiting time starts again when the window gets the focus. Otherwise a hostile website could open a window
 * above this window, and close its window between the two presses of a double click. The waiting time also starts
 * again when the focus returns from a frame, because this page does not see clicks in a frame.
 */
export function useAnswerGate(button: RefObject<HTMLElement | null>, question = ''): AnswerGate {
  const [opened, setOpened] = useState<Opened>();
  const isOpen = opened?.question === question;
  useEffect(() => {
    const element = button.current;
    if (element === null) return;
    let isVisible = isOpen;
    let wasUncovered = true;
    let last = element.getBoundingClientRect();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const cancelTimer = () => clearTimeout(timer);
    const restartTimer = () => {
      cancelTimer();
      wasUncovered = isUncovered(element);
      if (!isOpen && isVisible && wasUncovered && isInUse())
        timer = setTimeout(() => setOpened({ question, at: last }), pauseMs);
    };
    const check = () => {
      const now = element.getBoundingClientRect();
      const isMoved = hasMoved(last, now);
      last = now;
      const isResting = !isMoved && wasUncovered && isUncovered(element);
      if (isInUse() && isVisible && isResting) return;
      setOpened(undefined);
      restartTimer();
    };
    const onInput = (event: Event) => {
      if (!isOwnTyping(event, element)) restartTimer();
    };
    const observer = new window.IntersectionObserver(
      (entries) => {
        isVisible = (entries.at(-1)?.intersectionRatio ?? 0) >= visibleShare;
        if (isVisible) restartTimer();
        else check();
      },
      { threshold: visibleShare },
    );
    observer.observe(element);
    const interval = setInterval(check, checkEveryMs);
    const controller = new AbortController();
    const options = { capture: true, signal: controller.signal };
    window.addEventListener('blur', check, options);
    window.addEventListener('focus', restartTimer, options);
    document.addEventListener('visibilitychange', check, options);
    for (const type of inputEvents) document.addEventListener(type, onInput, options);
    document.addEventListener('pointerdown', cancelTimer, options);
    return () => {
      cancelTimer();
      clearInterval(interval);
      observer.disconnect();
      controller.abort();
    };
  }, [button, question, isOpen]);
  const latest = useRef(opened);
  latest.current = isOpen ? opened : undefined;
  const pass = useCallback(
    (answer: () => void) => {
      const at = latest.current?.at;
      const element = button.current;
      if (at === undefined || element === null) return false;
      const isMoved = hasMoved(at, element.getBoundingClientRect());
      if (!isInUse() || isMoved || !isUncovered(element)) {
        setOpened(undefined);
        return false;
      }
      answer();
      return true;
    },
    [button],
  );
  return { isOpen, pass };
}

function hasMoved(from: DOMRect, to: DOMRect): boolean {
  return (['top', 'left', 'bottom', 'right'] as const).some(
    (side) => Math.abs(from[side] - to[side]) > tolerance,
  );
}

/** True if the user can see this window and uses the page itself, and not a frame of the page. */
function isInUse(): boolean {
  return document.visibilityState !== 'hidden' && document.hasFocus() && !isFrameFocused();
}

function isFrameFocused(): boolean {
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  return focused?.localName === 'iframe';
}

/** True if the user types into a field of the same question. Enter sends the answer, so it does not count. */
function isOwnTyping(event: Event, button: Element): boolean {
  if (!('key' in event) || event.key === 'Enter') return false;
  const [target] = event.composedPath() as Partial<Element>[];
  const field = target?.closest?.('input, textarea, select');
  return field != null && field.closest('.approval') === button.closest('.approval');
}

/**
 * Returns true if key combinations such as Alt+Y are meant for a card. The card has the focus. Or no card has it,
 * and no other card is on the screen.
 */
export function ownsKeys(card: Element | null | undefined): boolean {
  if (card == null || !isOnScreen(card)) return false;
  const root = card.getRootNode() as Document | ShadowRoot;
  const focused = root.activeElement?.closest('.approval');
  if (focused != null) return focused === card;
  return [...root.querySelectorAll('.approval')].every((one) => one === card || !isOnScreen(one));
}

function isOnScreen(element: Element): boolean {
  const { top, bottom, left, right } = element.getBoundingClientRect();
  const { innerHeight, innerWidth } = window;
  return (
    bottom > Math.max(top, 0) && top < innerHeight && right > Math.max(left, 0) && left < innerWidth
  );
}
