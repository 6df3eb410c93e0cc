// A pad to draw on: strokes in units of its own, never pixels. It turns with the phone, and no browser can blur it.
export const WIDTH = 1000, HEIGHT = 360;
const SVG = 'http://www.w3.org/2000/svg';
const UNIT = WIDTH / 600; // the widths of lines are meant for a pad of 600
const NEAR = 2.5; // closer points are tremor
const LEAST = .25; // of the pad's sides: the smallest part of it that a picture shows
const MOST = 8000, STROKES = 200; // points and strokes: more is no signature

const within = (value, most) => Math.round(10 * Math.min(Math.max(value, 0), most)) / 10;

// Half a line's width: by the force if the device tells it, else by the speed.
const half = (force, speed) => force ? .8 + 5 * force : Math.max(1.1, 4 - 1.9 * speed);

// The points around a stroke, along its left side and back along its right. The server computes the same: what is shown is what is sealed.
function outline(points) {
  const [x, y, force] = points[0];
  if (points.length < 2) {
    const radius = UNIT * (force ? half(force, 0) : 2.6), turns = Array.from({ length: 16 }, (_, i) => i * Math.PI / 8);
    return turns.map(turn => [x + radius * Math.cos(turn), y + radius * Math.sin(turn)]);
  }
  const left = [], right = [];
  let wide = 2.6;
  points.forEach(([x, y, force, time], i) => {
    const [px, py, , before] = points[Math.max(i - 1, 0)], [nx, ny] = points[Math.min(i + 1, points.length - 1)];
    const dx = nx - px, dy = ny - py, far = Math.hypot(dx, dy) || 1;
    const speed = i ? Math.hypot(x - px, y - py) / UNIT / Math.max(time - before, 1) : .6;
    wide += .35 * (half(force, speed) - wide);
    const reach = wide * UNIT * (i && i < points.length - 1 ? 1 : .5);
    left.push([x - dy / far * reach, y + dx / far * reach]);
    right.unshift([x + dy / far * reach, y - dx / far * reach]);
  });
  return [...left, ...right];
}

const pair = point => point.map(n => n.toFixed(1)).join(' ');
const middle = ([x, y], [ox, oy]) => [(x + ox) / 2, (y + oy) / 2];

// A closed curve through the middles between the places, drawn towards each of them.
function curve(places) {
  const middles = places.map((place, i) => middle(place, places[(i + 1) % places.length]));
  return `M${pair(middles.at(-1))}${places.map((place, i) => `Q${pair(place)} ${pair(middles[i])}`).join('')}Z`;
}
// A stroke as the path of an SVG.
export const ink = points => curve(outline(points));

function path(points) {
  const drawn = document.createElementNS(SVG, 'path');
  drawn.setAttribute('fill', 'currentColor');
  drawn.setAttribute('d', ink(points));
  return drawn;
}

// The drawing as its own picture, cut to its ink; a dot is not enlarged until it fills its field.
export function picture(strokes) {
  const places = strokes.flatMap(outline), sides = [0, 1].map(axis => {
    const values = places.map(place => place[axis]), least = Math.min(...values), most = Math.max(...values);
    const long = Math.max(most - least, LEAST * [WIDTH, HEIGHT][axis]);
    return [(least + most - long) / 2, long];
  });
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', pair([...sides.map(([from]) => from), ...sides.map(([, long]) => long)]));
  svg.setAttribute('aria-hidden', 'true');
  svg.append(...strokes.map(path));
  return svg;
}

// Makes the <svg> a pad; `changed` hears of each stroke that is added or taken back.
export function pad(svg, strokes, changed) {
  let line = null, drawn = null, pointer = 0, began = 0, left = MOST - strokes.flat().length;

  function at(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const force = event.pointerType === 'pen' ? Math.round(100 * event.pressure) / 100 : 0;
    return [within(point.x, WIDTH), within(point.y, HEIGHT), force, Math.max(0, Math.round(event.timeStamp - began))];
  }
  function add([x, y, force, time]) {
    const [lx, ly] = line.at(-1);
    if (left <= 0 || Math.hypot(x - lx, y - ly) <= NEAR) return;
    left -= 1;
    line.push([within(lx + .6 * (x - lx), WIDTH), within(ly + .6 * (y - ly), HEIGHT), force, time]);
  }
  function begin(event) {
    if (line || event.button || left <= 0 || strokes.length >= STROKES) return;
    svg.setPointerCapture(pointer = event.pointerId); // a palm beside it draws nothing
    if (!strokes.length) began = event.timeStamp;
    line = [at(event)];
    left -= 1;
    svg.append(drawn = path(line));
  }
  function move(event) {
    if (!line || event.pointerId !== pointer) return;
    for (const each of event.getCoalescedEvents?.() ?? [event]) add(at(each));
    drawn.setAttribute('d', ink(line));
  }
  function end(event) {
    if (!line || event.pointerId !== pointer) return;
    strokes.push(line);
    line = null;
    changed();
  }

  svg.addEventListener('touchstart', event => event.preventDefault(), { passive: false }); // tablets would take it for handwriting
  svg.addEventListener('pointerdown', begin);
  svg.addEventListener('pointermove', move);
  for (const name of ['pointerup', 'pointercancel']) svg.addEventListener(name, end);
  svg.append(...strokes.map(path));

  return {
    undo() {
      left += strokes.pop()?.length ?? 0;
      svg.lastElementChild?.remove();
      changed();
    },
    clear() {
      left = MOST;
      strokes.length = 0;
      svg.replaceChildren();
      changed();
    },
  };
}
