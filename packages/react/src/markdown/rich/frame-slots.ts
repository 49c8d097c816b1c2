import { type RefObject, useEffect, useState } from 'react';

/**
 * Maximum number of frames that exist at the same time. Each frame is a document with its own scripts, so a
 * text with hundreds of diagrams would block the page.
 */
const maxFrames = 12;

/** A place in which a frame can be shown. */
interface Slot {
  isInSight: boolean;
  isShown: boolean;
  /** True if the frame can be removed and created again without a loss for the user. */
  readonly canLeave: boolean;
  readonly setShown: (isShown: boolean) => void;
}

/** The places of all frames. Those that came into sight last are at the end. */
const slots = new Set<Slot>();

/**
 * Returns whether a frame can exist in a place now. A frame is created when its place comes into sight. If
 * there are too many, the frames that are out of sight for the longest time are removed.
 */
export function useFrameSlot(place: RefObject<HTMLElement | null>, canLeave: boolean): boolean {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const slot: Slot = { isInSight: false, isShown: false, canLeave, setShown };
    slots.add(slot);
    const leave = () => {
      slots.delete(slot);
      showWaiting();
    };
    if (place.current === null || typeof window.IntersectionObserver === 'undefined') {
      slot.isInSight = true;
      showWaiting();
      return leave;
    }
    const observer = new window.IntersectionObserver(
      (entries) => {
        slot.isInSight = entries.at(-1)?.isIntersecting === true;
        if (slot.isInSight) {
          slots.delete(slot);
          slots.add(slot);
        }
        showWaiting();
      },
      { rootMargin: '200px' },
    );
    observer.observe(place.current);
    return () => {
      observer.disconnect();
      leave();
    };
  }, [place, canLeave]);
  return isShown;
}

/** Shows the frames that are in sight, up to the maximum number of frames. */
function showWaiting(): void {
  for (const slot of slots) {
    if (!slot.isInSight || slot.isShown) continue;
    const shown = [...slots].filter((one) => one.isShown);
    const old = shown.find((one) => !one.isInSight && one.canLeave);
    if (shown.length >= maxFrames && old === undefined) return;
    if (shown.length >= maxFrames && old !== undefined) change(old, false);
    change(slot, true);
  }
}

function change(slot: Slot, isShown: boolean): void {
  slot.isShown = isShown;
  slot.setShown(isShown);
}
