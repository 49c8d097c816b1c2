import { icon } from '../design/icons.tsx';

// The icons of the inspector, in the style of design/icons.tsx. They are in a separate file,
// because the inspector is loaded on demand.

/** The icon `play`. */
export const PlayIcon = icon(<path d="M5 3.5v9l7.5-4.5Z" fill="currentColor" />);
/** The icon `pause`. */
export const PauseIcon = icon(<path d="M5.5 3.5v9M10.5 3.5v9" />);
/** The icon `start`. */
export const StartIcon = icon(
  <>
    <path d="M3.5 3.5v9" />
    <path d="M12.5 4v8L6.5 8Z" fill="currentColor" />
  </>,
);
/** The icon `end`. */
export const EndIcon = icon(
  <>
    <path d="M12.5 3.5v9" />
    <path d="M3.5 4v8l6-4Z" fill="currentColor" />
  </>,
);
/** The icon `back`. */
export const BackIcon = icon(<path d="m10 4-4 4 4 4" />);
/** The icon `forward`. */
export const ForwardIcon = icon(<path d="m6 4 4 4-4 4" />);
/** The icon `zoom in`. */
export const ZoomInIcon = icon(
  <>
    <circle cx="7" cy="7" r="4.5" />
    <path d="m10.5 10.5 3 3M7 5v4M5 7h4" />
  </>,
);
/** The icon `zoom out`. */
export const ZoomOutIcon = icon(
  <>
    <circle cx="7" cy="7" r="4.5" />
    <path d="m10.5 10.5 3 3M5 7h4" />
  </>,
);
/** The icon `fit`. */
export const FitIcon = icon(
  <path d="M2.5 3.5v9M13.5 3.5v9M5 8h6M6.8 6.2 5 8l1.8 1.8M9.2 6.2 11 8l-1.8 1.8" />,
);
/** The icon `save`. */
export const SaveIcon = icon(<path d="M8 2.5V10M4.5 6.5 8 10l3.5-3.5M3 13h10" />);
