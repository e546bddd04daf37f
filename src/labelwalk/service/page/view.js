/** Which part of the plane the map shows: equal units both ways, and no jump without need. */

const ROOM = 0.1; // around the vertices, of their spread
const SMALL = 0.5; // of the view: what fills less is shown larger

/** Return the smallest view that shows all points with some room; null where there are none. */
export function viewOf(xs, ys, width, height) {
  if (!xs.length || !width || !height) return null;
  const [left, right] = spread(xs);
  const [low, high] = spread(ys);
  const unit = Math.max(
    (right - left) / width, (high - low) / height,
  ) * (1 + 2 * ROOM) || 1 / width;
  return around((left + right) / 2, (low + high) / 2, unit * width, unit * height);
}

/** Whether a view still suits the points: all inside, and not lost in it. */
export function suits(view, xs, ys) {
  const [left, right] = spread(xs);
  const [low, high] = spread(ys);
  const inside = view.x[0] <= left && right <= view.x[1] && view.y[0] <= low && high <= view.y[1];
  const filled = Math.max(
    (right - left) / (view.x[1] - view.x[0]), (high - low) / (view.y[1] - view.y[0]),
  );
  return inside && (filled >= SMALL || filled === 0);
}

/** A view nearer by a factor, about its middle. */
export function nearer(view, factor) {
  const [width, height] = [view.x[1] - view.x[0], view.y[1] - view.y[0]];
  return around(
    (view.x[0] + view.x[1]) / 2, (view.y[0] + view.y[1]) / 2, width / factor, height / factor,
  );
}

/** Where a point lies in a box that shows a view, in pixels. */
export function placed(view, x, y, width, height) {
  const across = (x - view.x[0]) / (view.x[1] - view.x[0]);
  const down = (view.y[1] - y) / (view.y[1] - view.y[0]);
  return [across * width, down * height];
}

/** The point of a view that is nearest to one outside. */
export function within(view, x, y) {
  const [dx, dy] = [0.02 * (view.x[1] - view.x[0]), 0.02 * (view.y[1] - view.y[0])];
  return [between(x, view.x[0] + dx, view.x[1] - dx), between(y, view.y[0] + dy, view.y[1] - dy)];
}

const between = (value, low, high) => Math.min(Math.max(value, low), high);

function around(x, y, width, height) {
  return { x: [x - width / 2, x + width / 2], y: [y - height / 2, y + height / 2] };
}

function spread(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
