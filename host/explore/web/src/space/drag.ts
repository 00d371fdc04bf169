// A step is dragged up to where it is to happen.

import { useState } from "preact/hooks";

import { ROW } from "./layout";

const DRAG_PX_MIN = 12;

export interface Drag {
  from: number;
  to: number;
}

/** Listeners for the drawing, and the drag under way. */
export function useDrag(rows: number, onDrop: (drag: Drag) => void) {
  const [start, setStart] = useState<{ row: number; y: number } | null>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const rowOf = (event: PointerEvent) => {
    const { top } = (event.currentTarget as Element).getBoundingClientRect();
    return Math.floor((event.clientY - top) / ROW);
  };
  const end = () => {
    setStart(null);
    setDrag(null);
  };
  return {
    drag,
    onPointerDown: (event: PointerEvent) => {
      const row = rowOf(event);
      if (event.button === 0 && row > 1 && row < rows) setStart({ row, y: event.clientY });
    },
    onPointerMove: (event: PointerEvent) => {
      if (!start || event.buttons === 0) return;
      const to = Math.max(rowOf(event), 1);
      if (start.y - event.clientY > DRAG_PX_MIN && to < start.row) setDrag({ from: start.row, to });
      else setDrag(null);
    },
    onPointerUp: () => {
      if (drag) onDrop(drag);
      end();
    },
    onPointerLeave: end,
  };
}
