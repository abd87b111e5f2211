import java.io.File;
import java.util.*;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.*;

/** Counts the reachable markings of the P/T net in model.pnml and prints the four answers of StateSpace. */
class StateSpace {
    public static void main(String[] arguments) throws Exception {
        Document net = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new File("model.pnml"));
        Map<String, Integer> places = new HashMap<>();
        List<Integer> initial = new ArrayList<>();
        for (Element place : elements(net, "place")) {
            places.put(place.getAttribute("id"), initial.size());
            NodeList marking = place.getElementsByTagName("initialMarking");
            initial.add(marking.getLength() == 0 ? 0 : Integer.parseInt(marking.item(0).getTextContent().trim()));
        }
        Map<String, int[]> consumed = new HashMap<>(), produced = new HashMap<>();
        for (Element transition : elements(net, "transition")) {
            consumed.put(transition.getAttribute("id"), new int[initial.size()]);
            produced.put(transition.getAttribute("id"), new int[initial.size()]);
        }
        for (Element arc : elements(net, "arc")) {
            String source = arc.getAttribute("source"), target = arc.getAttribute("target");
            if (places.containsKey(source)) consumed.get(target)[places.get(source)]++;
            else produced.get(source)[places.get(target)]++;
        }
        Set<List<Integer>> reached = new HashSet<>(Set.of(initial));
        Deque<List<Integer>> open = new ArrayDeque<>(reached);
        long firings = 0;
        int inPlace = 0, inMarking = 0;
        while (!open.isEmpty()) {
            List<Integer> marking = open.remove();
            inPlace = Math.max(inPlace, Collections.max(marking));
            inMarking = Math.max(inMarking, marking.stream().mapToInt(Integer::intValue).sum());
            for (String transition : consumed.keySet()) {
                List<Integer> next = new ArrayList<>(marking);
                boolean enabled = true;
                for (int place = 0; place < next.size(); place++) {
                    enabled &= marking.get(place) >= consumed.get(transition)[place];
                    next.set(place, next.get(place) - consumed.get(transition)[place] + produced.get(transition)[place]);
                }
                if (!enabled) continue;
                firings++;
                if (reached.add(next)) open.add(next);
            }
        }
        System.out.println("STATE_SPACE STATES " + reached.size() + " TECHNIQUES EXPLICIT");
        System.out.println("STATE_SPACE TRANSITIONS " + firings + " TECHNIQUES EXPLICIT");
        System.out.println("STATE_SPACE MAX_TOKEN_IN_PLACE " + inPlace + " TECHNIQUES EXPLICIT");
        System.out.println("STATE_SPACE MAX_TOKEN_PER_MARKING " + inMarking + " TECHNIQUES EXPLICIT");
    }

    static List<Element> elements(Document net, String name) {
        List<Element> found = new ArrayList<>();
        NodeList nodes = net.getElementsByTagName(name);
        for (int n = 0; n < nodes.getLength(); n++) found.add((Element) nodes.item(n));
        return found;
    }
}
