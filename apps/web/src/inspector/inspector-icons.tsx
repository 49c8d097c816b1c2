import type { ReactNode } from 'react';

function Glyph({ children }: { readonly children: ReactNode }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="currentColor"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

const line = {
  fill: 'none',
  stroke: 'currentColor',
  strokeWidth: 1.5,
  strokeLinecap: 'round',
} as const;

export const PlayIcon = () => (
  <Glyph>
    <path d="M4.5 2.9v10.2c0 .5.5.8.9.5l7.9-5.1a.6.6 0 0 0 0-1L5.4 2.4c-.4-.3-.9 0-.9.5Z" />
  </Glyph>
);
export const PauseIcon = () => (
  <Glyph>
    <rect x="4" y="3" width="3" height="10" rx="0.8" />
    <rect x="9" y="3" width="3" height="10" rx="0.8" />
  </Glyph>
);
export const StartIcon = () => (
  <Glyph>
    <rect x="3" y="3.5" width="1.6" height="9" rx="0.6" />
    <path d="M12.5 4.2v7.6c0 .4-.5.7-.8.4L6.1 8.4a.5.5 0 0 1 0-.8l5.6-3.8c.3-.3.8 0 .8.4Z" />
  </Glyph>
);
export const EndIcon = () => (
  <Glyph>
    <rect x="11.4" y="3.5" width="1.6" height="9" rx="0.6" />
    <path d="M3.5 4.2v7.6c0 .4.5.7.8.4l5.6-3.8a.5.5 0 0 0 0-.8L4.3 3.8c-.3-.3-.8 0-.8.4Z" />
  </Glyph>
);
export const BackIcon = () => (
  <Glyph>
    <path d="m9.5 4.5-3.5 3.5 3.5 3.5" {...line} />
  </Glyph>
);
export const ForwardIcon = () => (
  <Glyph>
    <path d="m6.5 4.5 3.5 3.5-3.5 3.5" {...line} />
  </Glyph>
);
export const ZoomInIcon = () => (
  <Glyph>
    <circle cx="7" cy="7" r="4.2" {...line} />
    <path d="m10.2 10.2 3.3 3.3M7 5.2v3.6M5.2 7h3.6" {...line} />
  </Glyph>
);
export const ZoomOutIcon = () => (
  <Glyph>
    <circle cx="7" cy="7" r="4.2" {...line} />
    <path d="m10.2 10.2 3.3 3.3M5.2 7h3.6" {...line} />
  </Glyph>
);
export const FitIcon = () => (
  <Glyph>
    <path
      d="M2.5 3.5v9M13.5 3.5v9M5 8h6M5 8l1.8-1.8M5 8l1.8 1.8M11 8 9.2 6.2M11 8 9.2 9.8"
      {...line}
    />
  </Glyph>
);
export const SaveIcon = () => (
  <Glyph>
    <path d="M8 2.5v7M5 7l3 3 3-3M3 12.8h10" {...line} strokeLinejoin="round" />
  </Glyph>
);
